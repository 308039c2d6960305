-- Confirmed losses: a URL that has moved is known from elsewhere; one that is unlisted is known until
-- it is delivered so, because it is not new if it comes back before.
UPDATE url SET kind = KIND_UNLISTED
WHERE site = :site AND kind = KIND_LIST AND (key, document) IN (SELECT key, document FROM confirmed_loss)
    AND EXISTS (SELECT 1 FROM page
        WHERE site = :site AND key = url.key AND is_unlisted AND NOT delivered_unlisted);

DELETE FROM url
WHERE site = :site AND kind = KIND_LIST AND (key, document) IN (SELECT key, document FROM confirmed_loss);

-- What was delivered as unlisted, and what left or became unlisted long ago.
DELETE FROM url INDEXED BY url_lost
WHERE site = :site AND kind = KIND_DELIVERED AND lost_stamp IS NOT NULL;

DELETE FROM url INDEXED BY url_lost
WHERE site = :site AND kind IN (KIND_WINDOW, KIND_DELETED, KIND_UNLISTED) AND lost_stamp IS NOT NULL AND lost_stamp < :before;

DELETE FROM url
WHERE site = :site AND +kind = KIND_WINDOW AND lost_stamp IS NOT NULL
    AND key IN (SELECT key FROM confirmed_loss);

DELETE FROM confirmed_loss;

-- Pages that are listed again, or became unlisted long ago; never before that could be delivered.
DELETE FROM page INDEXED BY page_open WHERE site = :site AND (NOT is_unlisted OR is_listed)
    AND EXISTS (SELECT 1 FROM url WHERE site = :site AND key = page.key AND lost_stamp IS NULL);

DELETE FROM page INDEXED BY page_since
WHERE site = :site AND since < :unlisted_before / 1e9 AND is_unlisted;

DELETE FROM neighbor WHERE site = :site AND asked_at < :before / 1e9;

-- One that comes back unchanged does not list again what is forgotten here; nor has it a turn.
UPDATE document SET complete = 0, rate = 0
WHERE site = :site AND NOT is_named AND unknown_stamp <= :forget_until;

DELETE FROM document WHERE site = :site AND NOT is_named AND unknown_stamp <= :forget_until
    AND id NOT IN (SELECT document FROM url WHERE site = (SELECT site FROM document
        WHERE site = :site AND NOT is_named AND unknown_stamp <= :forget_until))
