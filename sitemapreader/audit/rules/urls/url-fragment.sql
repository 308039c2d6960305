-- title: URLs with a fragment
-- severity: warning
-- unit: URLs
-- detects: The loc contains `#`.
-- meaning: Search engines ignore the fragment.
-- advice: List the URL without the fragment.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT loc AS url, '' AS detail, document
FROM unusual_url
WHERE contains(loc, '#')
