-- Lists of URLs. A line `-- name:` begins a query.

-- text:
read_csv($path, columns = {'url': 'VARCHAR'}, auto_detect = false, header = false,
    delim = chr(1), quote = '', escape = '', max_line_size = $limit, encoding = $encoding)

-- table:
read_csv($path, header = true, all_varchar = true, null_padding = true, strict_mode = false,
    parallel = false, hive_partitioning = false, max_line_size = $limit, encoding = $encoding)

-- objects: a text, or an object, of which the first key of those names that it has is read
(
    SELECT CASE WHEN json_type(json) = 'VARCHAR' THEN json ->> '$' ELSE list_filter(
        [
            json ->> list_filter(json_keys(json), lambda key: lower(trim(key)) = name)[1]
            FOR name IN $names
        ], lambda value: value IS NOT NULL
    )[1] END AS url
    FROM read_json_objects($path, format = 'newline_delimited', maximum_object_size = $limit)
)

-- parquet:
read_parquet($path, hive_partitioning = false)

-- find_unusual: URLs that may not be their own keys
CREATE OR REPLACE TABLE unusual AS
SELECT *, row_number() OVER () AS number
FROM (SELECT trim(loc, $blanks) AS loc FROM arrived WHERE NOT regexp_matches(loc, $simple))
WHERE regexp_matches(loc, '(?i)^https?://')

-- keep_simple:
CREATE OR REPLACE TABLE arrived AS
SELECT loc, loc AS key FROM arrived WHERE regexp_matches(loc, $simple)

-- list_unusual:
SELECT loc FROM unusual WHERE number > $after AND number <= $until

-- add_urls: {} is the table; what was no page of the old site need not lead anywhere
INSERT INTO {} SELECT min(loc) AS loc, key FROM arrived
WHERE key NOT IN (SELECT key FROM old_crawled WHERE NOT is_indexable) GROUP BY key ORDER BY key
