-- What nothing names any more is lost with it: see mark_named.sql. The first condition saves the
-- look at all rows of `url` where no document has lost its name in this run.
UPDATE url SET lost_stamp = :stamp
WHERE site = (SELECT site FROM document WHERE site = :site AND NOT is_named AND unknown_stamp = :stamp)
    AND lost_stamp IS NULL AND document IN
        (SELECT id FROM document WHERE site = :site AND NOT is_named AND unknown_stamp = :stamp);

-- What was never fetched, such as what is of another host or beyond a limit, may have a URL that is
-- missing: as a row it is waited for as others are.
INSERT OR IGNORE INTO document (site, url, confirmed_stamp)
SELECT :site, url, :all_known_stamp - 1 FROM reachable
WHERE EXISTS (SELECT 1 FROM url INDEXED BY url_lost
    WHERE site = :site AND lost_stamp IS NOT NULL AND kind = KIND_LIST)
