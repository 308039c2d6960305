-- What was judged; what left long ago; pages that are listed again, or were told; documents that
-- nothing names.
DELETE FROM url WHERE site = :site AND window < 2 AND (key, document) IN (SELECT key, document FROM judged);

DELETE FROM url INDEXED BY url_lost
WHERE site = :site AND lost_run IS NOT NULL AND window
    AND (lost_run < :before OR window < 2 AND key IN (SELECT key FROM judged));

DELETE FROM judged;

DELETE FROM page WHERE site = :site AND (told_gone AND asked_at < :before / 1e9 OR EXISTS
    (SELECT 1 FROM url WHERE site = :site AND key = page.key AND lost_run IS NULL));

-- One that comes back unchanged does not list again what is forgotten here.
UPDATE document SET complete = 0 WHERE site = :site AND dropped_run <= :proven;

DELETE FROM document WHERE site = :site AND dropped_run <= :proven
    AND NOT EXISTS (SELECT 1 FROM url WHERE url.site = :site AND url.document = document.id)
