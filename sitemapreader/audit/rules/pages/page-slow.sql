-- title: Listed pages that respond slowly
-- severity: info
-- unit: pages
-- needs: pages, visits, fetch
-- detects: In two requests, the second one after all other pages, the first byte comes after
--   `slow_page_seconds`.
-- meaning: Crawlers come less often to slow hosts.
-- advice: Cache such pages.
-- source: https://developers.google.com/search/docs/crawling-indexing/http-network-errors
SELECT loc AS url, format('{:.1f} s', seconds) AS detail, document
FROM page WHERE not_judged IS NULL AND is_listed AND status = 200 AND seconds > $slow_page_seconds
