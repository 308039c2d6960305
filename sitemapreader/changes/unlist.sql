-- URLs that are proven to be missing become unlisted, unless another document lists them. What a
-- window still lists may leave it later, which makes no URL unlisted; this does.
INSERT INTO judged
SELECT key, document, loc, lost_run, window FROM url AS judged INDEXED BY url_lost
WHERE site = :site AND lost_run IS NOT NULL AND (window = 2 OR lost_run <= :proven AND NOT window)
    AND NOT EXISTS (SELECT 1 FROM url
        WHERE site = :site AND key = judged.key AND window AND lost_run IS NULL);

INSERT INTO page (site, key, loc, since, due, document, why)
SELECT :site, key, loc, lost / 1e9, lost / 1e9, document.url,
    CASE judged.window WHEN 2 THEN 'deleted' ELSE iif(lost = dropped_run, 'unnamed', 'missing') END
FROM (SELECT *, max(lost) FROM judged GROUP BY key) AS judged
JOIN document ON document.id = judged.document
WHERE NOT EXISTS (SELECT 1 FROM url WHERE site = :site AND key = judged.key
    AND (lost_run IS NULL OR (NOT window AND judged.window < 2 AND lost_run > :proven)))
ON CONFLICT DO NOTHING
