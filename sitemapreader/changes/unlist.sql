-- A URL is lost since the last document has lost it, a window too: what was read before that may
-- list it again. With the pluses, SQLite looks for the key, and not for all that was lost later.
UPDATE url INDEXED BY url_lost SET lost_stamp = (SELECT max(lost_stamp) FROM url AS its
    WHERE its.site = :site AND its.key = url.key AND +its.kind = KIND_WINDOW)
WHERE site = :site AND lost_stamp IS NOT NULL AND kind = KIND_LIST AND EXISTS (SELECT 1 FROM url AS its
    WHERE its.site = :site AND its.key = url.key AND +its.kind = KIND_WINDOW
        AND +its.lost_stamp > url.lost_stamp);

-- What this run has missed may be asked from now on; it waits to be unlisted. It is missing since
-- the first document has lost it; `document` is the last one. A URL of an absent document has no
-- row before its loss is confirmed.
INSERT INTO page (site, key, loc, since, document, why, is_unlisted, due)
SELECT :site, lost.key, iif(lost.loc LIKE '/%', document.origin, '') || lost.loc,
    lost.lost_stamp / 1e9, document.url,
    iif(document.is_named, 'missing', 'unnamed'), 0, lost.lost_stamp / 1e9
FROM url AS lost INDEXED BY url_lost CROSS JOIN document ON document.id = lost.document
WHERE lost.site = :site AND lost.lost_stamp IS NOT NULL AND lost.kind = KIND_LIST
    AND (document.evidence <> 'absent' OR NOT document.is_named)
    AND NOT EXISTS (SELECT 1 FROM url AS its
        WHERE its.site = :site AND its.key = lost.key AND its.lost_stamp IS NULL)
ORDER BY lost.lost_stamp
ON CONFLICT DO UPDATE SET document = excluded.document, why = excluded.why
    WHERE NOT page.is_unlisted AND page.document <> excluded.document;

-- Losses that are confirmed. What a window still lists may leave it later, which makes no URL
-- unlisted; this does.
INSERT INTO confirmed_loss
SELECT lost.key, lost.document, iif(lost.loc LIKE '/%', document.origin, '') || lost.loc,
    lost.lost_stamp, lost.kind
FROM url AS lost INDEXED BY url_lost CROSS JOIN document ON document.id = lost.document
WHERE lost.site = :site AND lost.lost_stamp IS NOT NULL AND lost.kind IN (KIND_LIST, KIND_DELETED)
    AND (
        -- its record says that it was deleted
        lost.kind = KIND_DELETED
        -- a list has lost it, all documents prove that by now, and the list itself
        OR (lost.kind = KIND_LIST AND lost.lost_stamp <= :proven_until AND (
            -- is named by nothing,
            NOT document.is_named
            -- was known in this run,
            OR document.unknown_stamp IS NULL
            -- has confirmed its loss,
            OR document.confirmed_stamp >= lost.lost_stamp
            -- or was cut, damaged or absent for all of the patience
            OR (document.evidence IN ('part', 'absent') AND lost.lost_stamp <= :patience_since)))
    )
    AND NOT EXISTS (SELECT 1 FROM url AS its
        WHERE its.site = :site AND its.key = lost.key AND +its.kind <> KIND_LIST AND its.lost_stamp IS NULL);

-- They are unlisted, unless another document lists them, or has lost them later.
INSERT INTO page (site, key, loc, since, due, document, why, is_unlisted)
SELECT :site, loss.key, loss.loc, loss.lost_stamp / 1e9, loss.lost_stamp / 1e9, document.url,
    CASE loss.kind WHEN KIND_DELETED THEN 'deleted' ELSE iif(document.is_named, 'missing', 'unnamed') END, 1
FROM (SELECT key, document, loc, kind, max(lost_stamp) AS lost_stamp
    FROM confirmed_loss GROUP BY key) AS loss
JOIN document ON document.id = loss.document
WHERE NOT EXISTS (SELECT 1 FROM url AS its WHERE its.site = :site AND its.key = loss.key
    AND (its.lost_stamp IS NULL OR (+its.kind = KIND_LIST AND loss.kind = KIND_LIST
        AND (its.key, its.document) NOT IN (SELECT key, document FROM confirmed_loss))))
ON CONFLICT DO UPDATE SET is_unlisted = 1, document = excluded.document, why = excluded.why
    WHERE NOT page.is_unlisted
