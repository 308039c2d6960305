-- A spelling that `unique` has withheld is delivered when the delivered one is lost.
WITH loss AS (
    SELECT lost.key, url_key(iif(lost.loc LIKE '/%', document.origin, '') || lost.loc) AS spelling
    FROM url AS lost INDEXED BY url_lost CROSS JOIN document ON document.id = lost.document
    WHERE lost.site = :site AND lost.lost_stamp > :last
)
UPDATE url SET record = NULL
FROM document
WHERE url.site = :site AND url.lost_stamp IS NULL AND length(url.record) % 6 = 1
    AND document.id = url.document
    AND EXISTS (SELECT 1 FROM loss)
    AND url_key(iif(url.loc LIKE '/%', document.origin, '') || url.loc)
        IN (SELECT spelling FROM loss)
    -- another document may have lost this spelling itself, which alone means nothing
    AND (url_key(iif(url.loc LIKE '/%', document.origin, '') || url.loc), url.key)
        NOT IN (SELECT spelling, min(key) FROM loss
            GROUP BY spelling HAVING min(key) = max(key));

UPDATE document SET complete = 0
WHERE site = :site AND id IN
    (SELECT document FROM url WHERE site = :site AND lost_stamp IS NULL AND record IS NULL)
