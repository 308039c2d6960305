-- title: Listed pages that are not found
-- severity: error
-- unit: pages
-- needs: pages
-- detects: The page returns 404, directly or after redirects.
-- meaning: Search engines drop it, and trust the sitemap less.
-- advice: Restore the page, redirect it to its successor, or remove it from the sitemap.
-- source: https://sitebulb.com/hints/xml-sitemaps/, https://developers.google.com/search/docs/crawling-indexing/http-network-errors
-- search-console: Not found (404)
SELECT loc AS url, trim(statuses || ' 404') AS detail, document FROM page WHERE fault = 'page-not-found'
