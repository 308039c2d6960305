-- title: URLs with a fragment
-- severity: warning
-- unit: URLs
-- detects: `#` in loc.
-- meaning: Search engines drop what follows.
-- advice: List it without.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT loc AS url, '' AS detail, document
FROM unusual_url
WHERE contains(loc, '#')
