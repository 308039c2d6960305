-- A list that has become a window.
UPDATE url SET kind = KIND_WINDOW
WHERE site = :site AND lost_stamp IS NULL AND (key, document) IN
    (SELECT substr(keys, 10 * place.number + 1, 10), stretch.document
    FROM document CROSS JOIN stretch ON stretch.document = document.id
    CROSS JOIN place ON place.number < length(keys) / 10
    WHERE document.site = :site AND is_window AND is_known);

UPDATE stretch SET is_known = 0
WHERE is_known AND document IN (SELECT id FROM document WHERE site = :site AND is_window);

-- Entries that were logged together are stretches: each begins with the first, or with a key that
-- `begins_stretch`.
INSERT INTO stretch
SELECT 1000 * log.id + part.start, log.document, log.stamp,
    NOT document.is_window
        AND replace(CAST(substr(marks, part.start + 1, part.size) AS TEXT), 's', '') = '',
    substr(keys, 10 * part.start + 1, 10 * part.size),
    substr(records, 6 * part.start + 1, 6 * part.size)
FROM (SELECT log.id AS row, place.number AS start,
        lead(place.number, 1, length(marks)) OVER (PARTITION BY log.id ORDER BY place.number)
            - place.number AS size
    FROM log CROSS JOIN place ON place.number < length(marks)
    WHERE log.site = :site
        AND (place.number = 0 OR substr(keys, 10 * place.number + 1, 1) < x'08')) AS part
CROSS JOIN log ON log.id = part.row
CROSS JOIN document ON document.id = log.document;

-- Move what documents listed from `log` into `url`. It is sorted, because the rows of `url` lie in
-- the order of their keys, and because the last reading of a URL counts; of that, all records do.
INSERT INTO url
SELECT log.site, substr(keys, 10 * each.key + 1, 10) AS hash, document,
    CASE substr(marks, each.key + 1, 1)
        WHEN MARK_SENT THEN substr(records, 6 * each.key + 1, 6)
        WHEN MARK_WITHHELD THEN CAST(substr(records, 6 * each.key + 1, 6) || x'00' AS BLOB)
        WHEN MARK_SENT_OTHERWISE THEN x''
        WHEN MARK_DELETED THEN x'' END,
    each.value, NULL,
    iif(substr(marks, each.key + 1, 1) IN (MARK_DELETED, MARK_DELETED_UNKNOWN),
        KIND_DELETED, iif(document.is_window, KIND_WINDOW, KIND_LIST)),
    iif(substr(marks, each.key + 1, 1) IN (MARK_DELETED, MARK_DELETED_UNKNOWN), stamp, NULL),
    (SELECT max(id) FROM stretch WHERE id BETWEEN 1000 * log.id AND 1000 * log.id + each.key)
FROM log CROSS JOIN document ON document.id = log.document
CROSS JOIN json_each(inflate(locs)) AS each
WHERE log.site = :site
ORDER BY hash, 1000 * log.id + each.key
-- `is_held` keeps the kind and the loss that the row has already:
-- - A deletion holds until another record comes: a change list may also have the record from before
--   the deletion, which does not end it.
-- - A loss holds if it is younger than this reading, whose response may come from a cache.
ON CONFLICT DO UPDATE SET stretch = excluded.stretch,
    (seen_stamp, lost_stamp, kind, record) = (
        SELECT iif(seen > reading, seen, NULL),
            iif(is_held, url.lost_stamp, excluded.lost_stamp),
            iif(is_held, url.kind, excluded.kind),
            CASE
                WHEN ifnull(length(excluded.record), 0) = 0
                    THEN coalesce(url.record, excluded.record)
                WHEN CAST(excluded.record || x'00' AS BLOB) = url.record THEN url.record
                WHEN seen < reading OR ifnull(length(url.record), 0) = 0 THEN excluded.record
                WHEN instr(url.record, excluded.record) OR length(url.record) >= 384
                    THEN url.record
                ELSE CAST(url.record || excluded.record AS BLOB) END
        FROM (
            SELECT reading, seen, iif(url.kind = KIND_DELETED,
                excluded.kind = KIND_DELETED
                    OR (length(excluded.record) > 0 AND instr(url.record, excluded.record)),
                ifnull(url.lost_stamp > reading, FALSE)) AS is_held
            FROM (SELECT max(ifnull(url.seen_stamp, 0), ifnull(
                    (SELECT seen_stamp FROM stretch WHERE id = url.stretch), 0)) AS seen)
            CROSS JOIN (SELECT seen_stamp AS reading FROM stretch WHERE id = excluded.stretch)));

-- Pages of missing URLs that are listed again. A site that has no row in `page` costs nothing here.
UPDATE page SET is_listed = 1
WHERE site = :site AND key IN
    (SELECT substr(keys, 10 * place.number + 1, 10)
    FROM log CROSS JOIN place ON place.number < length(keys) / 10
    WHERE log.site = (SELECT site FROM page WHERE site = :site));

DELETE FROM log WHERE site = :site;

-- A document has lost the URLs that its reading did not see. They lie in stretches that it did not see.
DELETE FROM unseen;

INSERT INTO unseen
SELECT url.key, url.document, url.stretch
FROM document CROSS JOIN stretch ON stretch.document = document.id
CROSS JOIN place ON place.number < length(keys) / 10
CROSS JOIN url ON url.site = :site AND url.key = substr(keys, 10 * place.number + 1, 10)
    AND url.document = stretch.document
WHERE document.site = :site AND reading_to_merge > stretch.seen_stamp
    AND url.stretch = stretch.id AND url.lost_stamp IS NULL;

UPDATE url SET
    kind = (SELECT iif(its.is_window, KIND_WINDOW, KIND_LIST)
        FROM document AS its WHERE its.id = url.document),
    lost_stamp = (SELECT its.reading_to_merge FROM document AS its WHERE its.id = url.document),
    seen_stamp = ifnull(seen_stamp, (SELECT its.seen_stamp FROM stretch AS its WHERE its.id = url.stretch))
WHERE site = :site AND (key, document) IN (SELECT key, document FROM unseen)
    AND ifnull(seen_stamp, 0)
        < (SELECT its.reading_to_merge FROM document AS its WHERE its.id = url.document);

DELETE FROM stretch WHERE document IN (SELECT id FROM document WHERE site = :site AND reading_to_merge > 0)
    AND seen_stamp < (SELECT its.reading_to_merge FROM document AS its WHERE its.id = stretch.document)
    AND id NOT IN (SELECT unseen.stretch FROM unseen CROSS JOIN url ON url.site = :site
        AND url.key = unseen.key AND url.document = unseen.document WHERE lost_stamp IS NULL);

-- What was never delivered cannot become unlisted.
DELETE FROM url INDEXED BY url_unsent
WHERE site = :site AND lost_stamp IS NOT NULL AND record IS NULL;

UPDATE document SET reading_to_merge = 0 WHERE site = :site AND reading_to_merge
