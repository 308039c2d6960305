-- What nothing names is lost with all its URLs, and as it was when it is named again. `reachable`
-- has what is named. A URL that was delivered as unlisted
-- or gone is listed again only by a reading.
UPDATE url INDEXED BY url_lost SET lost_stamp = NULL
WHERE site = (SELECT site FROM document WHERE site = :site AND NOT is_named)
    AND lost_stamp IS NOT NULL AND kind = KIND_LIST
    AND document IN (SELECT id FROM document AS its WHERE site = :site AND NOT is_named
        AND its.unknown_stamp = lost_stamp AND its.url IN (SELECT url FROM reachable))
    AND NOT EXISTS (SELECT 1 FROM page
        WHERE site = :site AND key = url.key AND (delivered_unlisted OR delivered_gone));

UPDATE document SET is_named = 1, unknown_stamp = NULL, missed = 0, complete = complete
    AND id NOT IN (SELECT document FROM url INDEXED BY url_lost
        WHERE site = :site AND lost_stamp IS NOT NULL AND kind = KIND_LIST)
WHERE site = :site AND NOT is_named AND url IN (SELECT url FROM reachable)
