-- A spelling that `unique` has withheld is delivered when the delivered one is lost.
UPDATE url SET record = NULL
WHERE site = :site AND lost_stamp IS NULL AND length(record) % 6 = 1
    AND EXISTS (SELECT 1 FROM url INDEXED BY url_lost WHERE site = :site AND lost_stamp > :last)
    AND url_key(loc) IN (SELECT url_key(lost.loc) FROM url AS lost INDEXED BY url_lost
        WHERE lost.site = :site AND lost.lost_stamp > :last)
    -- another document may have lost this spelling itself, which alone means nothing
    AND (url_key(loc), key) NOT IN (SELECT url_key(lost.loc) AS spelling, min(lost.key)
        FROM url AS lost INDEXED BY url_lost WHERE lost.site = :site AND lost.lost_stamp > :last
        GROUP BY spelling HAVING min(lost.key) = max(lost.key));

UPDATE document SET complete = 0
WHERE site = :site AND id IN
    (SELECT document FROM url WHERE site = :site AND lost_stamp IS NULL AND record IS NULL)
