-- What documents listed, from `log` into `url`: sorted, because the rows lie in the order of their
-- keys, and because the last word on a URL counts.
INSERT INTO url
SELECT log.site, substr(keys, 10 * each.key + 1, 10) AS hash, document,
    CASE  -- s or S, o or O, u or U
        WHEN substr(marks, each.key + 1, 1) IN (x'73', x'53')
            THEN substr(records, 6 * each.key + 1, 6)
        WHEN substr(marks, each.key + 1, 1) IN (x'6f', x'4f', x'64') THEN x'' END,  -- or d
    each.value, run,
    CASE WHEN substr(marks, each.key + 1, 1) IN (x'64', x'6e') THEN 2  -- d or n
        ELSE max(substr(marks, each.key + 1, 1) < x'61', document.window) END,
    iif(substr(marks, each.key + 1, 1) IN (x'64', x'6e'), run, NULL)
FROM log CROSS JOIN document ON document.id = log.document
CROSS JOIN json_each(inflate(locs)) AS each
WHERE log.site = :site
ORDER BY hash, 1000 * log.id + each.key
-- A deletion holds until another record comes: a change list has what was created before as well.
ON CONFLICT DO UPDATE SET seen_run = excluded.seen_run,
    (lost_run, window) = (SELECT iif(is_held, url.lost_run, excluded.lost_run),
        iif(is_held, 2, excluded.window) FROM (SELECT url.window = 2
            AND (url.record = excluded.record OR excluded.window = 2) AS is_held)),
    record = iif(length(excluded.record) > 0, excluded.record,
        coalesce(url.record, excluded.record));

DELETE FROM log WHERE site = :site;

-- What a whole reading did not see is lost.
UPDATE url SET
    window = max(window, (SELECT its.window FROM document AS its WHERE its.id = url.document)),
    lost_run = (SELECT its.listed_run FROM document AS its WHERE its.id = url.document)
WHERE site = (SELECT site FROM document
        WHERE site = :site AND listed_run IS NOT merged_run AND merged_run > 0)
    AND lost_run IS NULL AND document IN
        (SELECT id FROM document WHERE site = :site AND listed_run IS NOT merged_run)
    AND seen_run < (SELECT its.listed_run FROM document AS its WHERE its.id = url.document);

-- What was never delivered cannot become unlisted.
DELETE FROM url INDEXED BY url_lost
WHERE site = :site AND lost_run IS NOT NULL AND record IS NULL;

UPDATE document SET merged_run = listed_run WHERE site = :site AND listed_run IS NOT merged_run
