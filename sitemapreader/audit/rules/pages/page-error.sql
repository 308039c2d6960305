-- title: Listed pages that fail
-- severity: error
-- unit: pages
-- needs: pages
-- detects: Twice, the second time after all others: redirects in a circle, to nowhere or more than the
--   limit, or 5xx or no answer where other pages of the host answer.
-- meaning: Crawlers come more slowly, and drop the page if that goes on.
-- advice: Look into the server's log for these requests.
-- source: https://developers.google.com/search/docs/crawling-indexing/http-network-errors
-- search-console: Server error (5xx)
SELECT loc AS url, document,
       trim(CASE WHEN error = '' THEN statuses || ' ' || status
                 ELSE split_part(statuses, ' ', 1) || ' ' || error END) AS detail
FROM page WHERE fault = 'page-error'
