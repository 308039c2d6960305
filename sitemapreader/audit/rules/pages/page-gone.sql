-- title: Listed pages that are gone for good
-- severity: error
-- unit: pages
-- needs: pages
-- detects: The page answers 410, at once or behind redirects.
-- meaning: The site took it away on purpose, and lists it all the same.
-- advice: Take it out of the sitemap.
-- source: https://developers.google.com/search/docs/crawling-indexing/http-network-errors
SELECT loc AS url, trim(statuses || ' 410') AS detail, document FROM page WHERE fault = 'page-gone'
