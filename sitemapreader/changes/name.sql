-- What nothing names is lost with all its URLs, and as it was when it is named again. `reachable`
-- has what is named.
UPDATE url INDEXED BY url_lost SET lost_run = NULL
WHERE site = :site AND lost_run IS NOT NULL AND NOT window
    AND document IN (SELECT id FROM document AS its WHERE site = :site AND NOT is_named
        AND its.missing_run = lost_run AND its.url IN (SELECT url FROM reachable));

UPDATE document SET is_named = 1, missing_run = NULL, missed = 0
WHERE site = :site AND NOT is_named AND url IN (SELECT url FROM reachable)
