-- What nothing names is lost with all its URLs, and as it was when it is named again, but for what
-- its reading of this walk lacks. `reachable` has what is named.
UPDATE url INDEXED BY url_lost SET lost_run = (
    SELECT iif(url.seen_run < its.listed_run, its.listed_run, NULL) FROM document AS its WHERE its.id = url.document)
WHERE site = :site AND lost_run IS NOT NULL AND document IN (SELECT id FROM document AS its
    WHERE site = :site AND its.dropped_run = lost_run AND its.url IN (SELECT url FROM reachable));

UPDATE document SET dropped_run = NULL
WHERE site = :site AND dropped_run IS NOT NULL AND url IN (SELECT url FROM reachable);

UPDATE document SET dropped_run = :now
WHERE :drops AND site = :site AND dropped_run IS NULL AND url NOT IN (SELECT url FROM reachable);

UPDATE url SET lost_run = :now
WHERE site = (SELECT site FROM document WHERE site = :site AND dropped_run = :now)
    AND lost_run IS NULL
    AND document IN (SELECT id FROM document WHERE site = :site AND dropped_run = :now);

-- What was never fetched, such as what is of another host or beyond a limit, may have a URL that is
-- missing: as a row it is waited for as others are.
INSERT OR IGNORE INTO document (site, url, first_run, proven_run)
SELECT :site, url, :now, :looked - 1 FROM reachable
WHERE EXISTS (SELECT 1 FROM url INDEXED BY url_lost
    WHERE site = :site AND lost_run IS NOT NULL AND NOT window)
