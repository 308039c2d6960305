-- What documents listed, from `log` into `url`: sorted, because the rows lie in the order of their
-- keys, and because the last record of a URL counts; of one reading, all of its records.
INSERT INTO url
SELECT log.site, substr(keys, 10 * each.key + 1, 10) AS hash, document,
    CASE substr(marks, each.key + 1, 1)
        WHEN x'73' THEN substr(records, 6 * each.key + 1, 6)  -- s
        WHEN x'77'  -- w
            THEN CAST(substr(records, 6 * each.key + 1, 6) || x'00' AS BLOB)
        WHEN x'6f' THEN x'' WHEN x'64' THEN x'' END,  -- o, d
    each.value, stamp,
    iif(substr(marks, each.key + 1, 1) IN (x'64', x'6e'), 2, document.is_window),  -- d or n
    iif(substr(marks, each.key + 1, 1) IN (x'64', x'6e'), stamp, NULL)
FROM log CROSS JOIN document ON document.id = log.document
CROSS JOIN json_each(inflate(locs)) AS each
WHERE log.site = :site
ORDER BY hash, 1000 * log.id + each.key
-- A deletion holds until another record comes: a change list has what was created before as well.
-- A loss holds if it is younger than what was read, which a cache had kept.
ON CONFLICT DO UPDATE SET seen_stamp = max(url.seen_stamp, excluded.seen_stamp),
    (lost_stamp, kind) = (SELECT iif(is_held, url.lost_stamp, excluded.lost_stamp),
        iif(is_held, url.kind, excluded.kind) FROM (SELECT iif(url.kind = 2, excluded.kind = 2
            OR (length(excluded.record) > 0 AND instr(url.record, excluded.record)),
            ifnull(url.lost_stamp > excluded.seen_stamp, FALSE)) AS is_held)),
    record = CASE
        WHEN ifnull(length(excluded.record), 0) = 0 THEN coalesce(url.record, excluded.record)
        WHEN CAST(excluded.record || x'00' AS BLOB) = url.record THEN url.record
        WHEN url.seen_stamp < excluded.seen_stamp OR ifnull(length(url.record), 0) = 0
            THEN excluded.record
        WHEN instr(url.record, excluded.record) OR length(url.record) >= 384 THEN url.record
        ELSE CAST(url.record || excluded.record AS BLOB) END;

DELETE FROM log WHERE site = :site;

-- What a reading did not see is lost. The first condition is about the site as a whole: without a
-- reading it is NULL, and no row of `url` is looked at.
UPDATE url SET
    kind = (SELECT its.is_window FROM document AS its WHERE its.id = url.document),
    lost_stamp = (SELECT its.to_merge FROM document AS its WHERE its.id = url.document)
WHERE site = (SELECT site FROM document WHERE site = :site AND to_merge > 0)
    AND lost_stamp IS NULL
    AND document IN (SELECT id FROM document WHERE site = :site AND to_merge > 0)
    AND seen_stamp < (SELECT its.to_merge FROM document AS its WHERE its.id = url.document);

-- What was never delivered cannot become unlisted.
DELETE FROM url INDEXED BY url_lost
WHERE site = :site AND lost_stamp IS NOT NULL AND record IS NULL;

UPDATE document SET to_merge = 0 WHERE site = :site AND to_merge
