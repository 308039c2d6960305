-- title: Listed pages that refuse our requests
-- severity: info
-- unit: pages
-- needs: pages
-- detects: The page returns 403, 451 or another 4xx, no bot protection is recognized, and half of
--   the pages of its host respond normally.
-- meaning: The server may refuse other crawlers, too.
-- advice: Request the page with the User-Agent and the addresses of a crawler.
-- source: https://sitebulb.com/hints/xml-sitemaps/
-- search-console: Blocked due to access forbidden (403)
SELECT loc AS url, trim(statuses || ' ' || status) AS detail, document
FROM page WHERE fault = 'page-forbidden'
