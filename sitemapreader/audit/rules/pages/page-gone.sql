-- title: Listed pages that are gone for good
-- severity: error
-- unit: pages
-- needs: pages
-- detects: The page returns 410, directly or after redirects.
-- meaning: The site removed the page on purpose, but still lists it.
-- advice: Remove it from the sitemap.
-- source: https://developers.google.com/search/docs/crawling-indexing/http-network-errors
SELECT loc AS url, trim(statuses || ' 410') AS detail, document FROM page WHERE fault = 'page-gone'
