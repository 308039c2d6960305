-- title: Listed pages that answer slowly
-- severity: info
-- unit: pages
-- needs: pages, visits, fetch
-- detects: Twice, the second time after all others, the first byte comes after `slow_page_seconds`.
-- meaning: Crawlers come less often to slow hosts.
-- advice: Keep such pages in a cache.
-- source: https://developers.google.com/search/docs/crawling-indexing/http-network-errors
SELECT loc AS url, format('{:.1f} s', seconds) AS detail, document
FROM page WHERE not_judged IS NULL AND is_listed AND status = 200 AND seconds > $slow_page_seconds
