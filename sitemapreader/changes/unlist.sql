-- A URL is lost since the last document has lost it, a window too: what was read before that may
-- list it again. With the plus, SQLite looks for the key, and not for all that was lost later.
UPDATE url INDEXED BY url_lost SET lost_stamp = (SELECT max(lost_stamp) FROM url AS its
    WHERE its.site = :site AND its.key = url.key AND its.kind = 1)
WHERE site = :site AND lost_stamp IS NOT NULL AND NOT kind AND EXISTS (SELECT 1 FROM url AS its
    WHERE its.site = :site AND its.key = url.key AND its.kind = 1
        AND +its.lost_stamp > url.lost_stamp);

-- What this run has missed may be asked from now on; it waits to be unlisted.
INSERT INTO page (site, key, loc, since, document, why, is_unlisted, due)
SELECT :site, key, loc, lost_stamp / 1e9, document.url, iif(is_named, 'missing', 'unnamed'), 0,
    lost_stamp / 1e9
FROM url AS lost INDEXED BY url_lost CROSS JOIN document ON document.id = lost.document
WHERE lost.site = :site AND lost_stamp IS NOT NULL AND NOT lost.kind
    AND (evidence <> 'absent' OR NOT is_named)
    AND NOT EXISTS (SELECT 1 FROM url
        WHERE site = :site AND key = lost.key AND lost_stamp IS NULL)
ON CONFLICT DO NOTHING;

-- Losses that are confirmed. What a window still lists may leave it later, which makes no URL
-- unlisted; this does.
INSERT INTO judged
SELECT key, document, loc, lost_stamp, lost.kind
FROM url AS lost INDEXED BY url_lost CROSS JOIN document ON document.id = lost.document
WHERE lost.site = :site AND lost_stamp IS NOT NULL AND (lost.kind = 2
        OR (NOT lost.kind AND lost_stamp <= :all_confirmed AND (NOT is_named OR missing_stamp IS NULL
            OR confirmed_stamp >= lost_stamp
            OR (evidence IN ('part', 'absent') AND lost_stamp <= :patient))))
    AND NOT EXISTS (SELECT 1 FROM url
        WHERE site = :site AND key = lost.key AND kind AND lost_stamp IS NULL);

-- They are unlisted, unless another document lists them, or has lost them later.
INSERT INTO page (site, key, loc, since, due, document, why, is_unlisted)
SELECT :site, key, loc, lost / 1e9, lost / 1e9, document.url,
    CASE judged.kind WHEN 2 THEN 'deleted' ELSE iif(is_named, 'missing', 'unnamed') END, 1
FROM (SELECT *, max(lost) FROM judged GROUP BY key) AS judged
JOIN document ON document.id = judged.document
WHERE NOT EXISTS (SELECT 1 FROM url WHERE site = :site AND key = judged.key
    AND (lost_stamp IS NULL OR (NOT kind AND judged.kind < 2
        AND (key, document) NOT IN (SELECT key, document FROM judged))))
ON CONFLICT DO UPDATE SET is_unlisted = 1, why = excluded.why WHERE NOT is_unlisted
