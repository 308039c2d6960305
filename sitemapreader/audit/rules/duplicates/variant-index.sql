-- title: Same folder with and without its index file
-- severity: warning
-- unit: URLs
-- cause: page-redirects, page-canonical-elsewhere
-- detects: A URL that ends with `/index.html` (or the index file of another server) is listed
--   beside the URL of its folder, with or without the final slash.
-- meaning: Servers return the same page for both, so two URLs compete for it.
-- advice: List the folder, and redirect its index file to it.
-- source: https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls
WITH index_file AS (
    SELECT loc, document, regexp_extract(
        key, '(?i)^(.*)/(?:index\.(?:[xs]?html?|php|aspx?|jsp|cfm)|default\.(?:html?|aspx?))$', 1
    ) AS folder
    FROM url WHERE regexp_matches(path, '(?i)/(?:index|default)\.[a-z]+$')
)
SELECT f.loc AS url, min(u.loc) AS detail, f.document
FROM index_file f JOIN url u ON rtrim(u.key, '/') = f.folder
WHERE f.folder <> ''
GROUP BY f.loc, f.document
