-- Confirmed losses: a URL that has moved is known from elsewhere; one that is unlisted is known until
-- that is told, because it is not new if it comes back before.
UPDATE url SET kind = 3
WHERE site = :site AND NOT kind AND (key, document) IN (SELECT key, document FROM confirmed_loss)
    AND EXISTS (SELECT 1 FROM page WHERE site = :site AND key = url.key AND is_unlisted);

DELETE FROM url
WHERE site = :site AND NOT kind AND (key, document) IN (SELECT key, document FROM confirmed_loss);

-- What was told, and what left or became unlisted long ago.
DELETE FROM url INDEXED BY url_lost
WHERE site = :site AND lost_stamp IS NOT NULL AND kind AND (lost_stamp < :before
    OR kind = 1 AND key IN (SELECT key FROM confirmed_loss)
    OR kind = 3 AND EXISTS (SELECT 1 FROM page
        WHERE site = :site AND key = url.key AND delivered_unlisted));

DELETE FROM confirmed_loss;

-- Pages that are listed again, or became unlisted long ago; never before that could be told.
DELETE FROM page WHERE site = :site AND (is_unlisted AND since < :unlisted_before / 1e9 OR EXISTS
    (SELECT 1 FROM url WHERE site = :site AND key = page.key AND lost_stamp IS NULL));

DELETE FROM control WHERE site = :site AND asked_at < :before / 1e9;

-- One that comes back unchanged does not list again what is forgotten here; nor has it a turn.
UPDATE document SET complete = 0, rate = 0
WHERE site = :site AND NOT is_named AND missing_stamp <= :all_confirmed;

DELETE FROM document WHERE site = :site AND NOT is_named AND missing_stamp <= :all_confirmed
    AND id NOT IN (SELECT document FROM url WHERE site = :site)
