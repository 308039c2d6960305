-- Lists of URLs. A line `-- name:` begins a query.

-- text: the lines that Python has read
(SELECT line AS url FROM line)

-- table: {} is its separator, if that is known; quotes are guessed wrong where a cell has an apostrophe
read_csv($path, header = true, all_varchar = true, null_padding = true, strict_mode = false,
    quote = '"', escape = '"', {}
    parallel = false, hive_partitioning = false, max_line_size = $limit, encoding = $encoding)

-- objects: a text, or an object, of which the first key of those names that it has is read
(
    SELECT CASE WHEN json_type(json) = 'VARCHAR' THEN json ->> '$' ELSE list_filter(
        [
            json ->> list_filter(
                json_keys(json), lambda key: replace(lower(trim(key)), '_', ' ') = name
            )[1]
            FOR name IN $names
        ], lambda value: value IS NOT NULL
    )[1] END AS url, json ->> 'lastmod' AS lastmod
    FROM (SELECT line::JSON AS json FROM line WHERE line <> '')
)

-- parquet:
read_parquet($path, hive_partitioning = false)

-- define_absolute: a path is one of the site; {} is its origin, or ''
CREATE OR REPLACE MACRO absolute_url(text) AS
    CASE WHEN starts_with(text, '/') AND NOT starts_with(text, '//') THEN {} || text ELSE text END

-- read: {0} is the column of URLs, {1} the one of dates or NULL, {2} reads the file
INSERT INTO arrived SELECT {0}::VARCHAR, {1}::VARCHAR FROM {2}

-- add_crawled: what a crawl says of its pages; {0} is the table, {1} are the columns, {2} reads the file
INSERT INTO {0}
SELECT loc, url_key(loc), status, redirect, url_key(redirect), canonical, url_key(canonical),
       contains(said, 'noindex'), contains(said, 'robots'), is_html,
       is_html AND is_indexable AND status < 300
FROM (
    SELECT absolute_url(trim(loc, $blanks)) AS loc,
           nullif(regexp_extract(status, '^\s*([0-9]{{1,3}})(?:\.0*)?\s*$', 1), '')::USMALLINT AS status,
           nullif(usable_url(absolute_url(trim(redirect, $blanks))), '') AS redirect,
           nullif(usable_url(absolute_url(trim(canonical, $blanks))), '') AS canonical,
           lower(concat(indexability, ' ', why)) AS said,
           lower(trim(coalesce(nullif(indexability, ''), 'yes'))) IN ('indexable', 'yes', 'true', '1')
               AS is_indexable,
           lower(trim(split_part(coalesce(content_type, ''), ';', 1)))
               IN ('', 'text/html', 'application/xhtml+xml') AS is_html
    FROM (SELECT {1} FROM {2})
)
WHERE regexp_matches(loc, '(?i)^https?://') AND status IS NOT NULL

-- add_targets: where old URLs are to lead; {0} and {1} are the columns, {2} reads the file
INSERT INTO old_target
SELECT key, min_by(new, new_key), min(new_key), max_by(new, new_key), max(new_key)
FROM (
    SELECT url_key(old) AS key, new, url_key(new) AS new_key FROM (
        SELECT absolute_url(trim({0}::VARCHAR, $blanks)) AS old,
               usable_url(absolute_url(trim({1}::VARCHAR, $blanks))) AS new
        FROM {2}
    )
    WHERE regexp_matches(old, '(?i)^https?://') AND new <> ''
) GROUP BY key

-- add_urls: {} is the table; what was no page of the old site need not lead anywhere
INSERT INTO {}
SELECT min(loc) AS loc, key FROM (
    SELECT loc, key_of(loc) AS key
    FROM (SELECT absolute_url(trim(loc, $blanks)) AS loc FROM arrived)
    WHERE regexp_matches(loc, '(?i)^https?://')
)
WHERE key NOT IN (SELECT key FROM old_crawled WHERE NOT is_indexable) GROUP BY key ORDER BY key

-- add_listed: each URL of a list once, with its newest date; {} is the table
CREATE TABLE {} AS
SELECT min(loc) AS loc, key, max(lastmod) AS lastmod FROM (
    SELECT loc, key_of(loc) AS key, nullif(lastmod, '') AS lastmod
    FROM (SELECT trim(loc, $blanks) AS loc, trim(lastmod, $blanks) AS lastmod FROM arrived)
    WHERE regexp_matches(loc, '(?i)^https?://')
) GROUP BY key

-- move_listed: earlier URLs, to where they have moved
UPDATE listed_before SET loc = t.new, key = t.new_key FROM old_target t WHERE t.key = listed_before.key

-- differences: URLs that one of two lists has, or that have another text as their date
SELECT coalesce(a.loc, b.loc) AS url, b.key IS NOT NULL, a.key IS NOT NULL, b.lastmod, a.lastmod
FROM (SELECT min(loc) AS loc, key, max(lastmod) AS lastmod FROM listed_before GROUP BY key) b
FULL JOIN listed_after a USING (key)
WHERE b.key IS NULL OR a.key IS NULL OR b.lastmod IS DISTINCT FROM a.lastmod
ORDER BY url

-- old_host: a URL of the host with most old URLs
SELECT min(loc) FROM old GROUP BY scheme_of(key), host_of(key) ORDER BY count(*) DESC, min(loc) LIMIT 1
