-- title: Same folder with and without its index file
-- severity: warning
-- unit: URLs
-- cause: page-redirects, page-canonical-elsewhere, page-canonical-variant
-- detects: A URL that ends with `/index.html` (or the index file of another server) is listed
--   beside the URL of its folder, with or without the final slash.
-- meaning: Servers return the same page for both, so two URLs compete for it.
-- advice: List the folder, and redirect its index file to it.
-- source: https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls
-- Materialized: else DuckDB joins all URLs before it has seen that none is an index file.
WITH index_file AS MATERIALIZED (
    SELECT loc, document, regexp_extract(
        key, '(?i)^(.*)/(?:index\.(?:[xs]?html?|php|aspx?|jsp|cfm)|default\.(?:html?|aspx?))$', 1
    ) AS folder
    FROM (
        SELECT loc, document, loc AS key FROM url_row
        WHERE is_simple AND regexp_matches(loc, '/(?:index|default)\.[a-z]+$') -- it ends as its path does
        UNION ALL
        SELECT loc, document, key FROM unusual_url
        WHERE regexp_matches(path, '(?i)/(?:index|default)\.[a-z]+$')
    )
), folder_url AS MATERIALIZED (
    SELECT loc, document, unnest([folder, folder || '/']) AS key FROM index_file WHERE folder <> ''
), listed AS (
    SELECT loc, key FROM url WHERE key IN (SELECT key FROM folder_url)
)
SELECT f.loc AS url, min(u.loc) AS detail, f.document
FROM folder_url f JOIN listed u ON u.key = f.key
GROUP BY f.loc, f.document
