-- title: URLs with tracking parameters
-- severity: warning
-- unit: URLs
-- cause: page-canonical-elsewhere
-- detects: A parameter of the query is one of `tracking_parameters`.
-- meaning: Such URLs are copies of pages, and spoil the statistics.
-- advice: List the URL without these parameters.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT loc AS url, regexp_extract(query, $tracking, 2) AS detail, document
FROM unusual_url
WHERE query <> '' AND regexp_matches(query, $tracking)
