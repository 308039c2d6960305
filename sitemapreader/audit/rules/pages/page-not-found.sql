-- title: Listed pages that are not found
-- severity: error
-- unit: pages
-- needs: pages
-- detects: The page answers 404, at once or behind redirects.
-- meaning: Search engines drop it, and trust the sitemap less.
-- advice: Restore the page, redirect it to its successor, or take it out of the sitemap.
-- source: https://sitebulb.com/hints/xml-sitemaps/, https://developers.google.com/search/docs/crawling-indexing/http-network-errors
-- search-console: Not found (404)
SELECT loc AS url, trim(statuses || ' 404') AS detail, document FROM page WHERE fault = 'page-not-found'
