-- title: Listed pages that fail
-- severity: error
-- unit: pages
-- needs: pages
-- detects: Twice, the second time after all others: redirects in a circle or more than the limit,
--   or 5xx or no answer where other pages of the host answer.
-- meaning: Crawlers come more slowly, and drop the page if that goes on.
-- advice: Look into the server's log for these requests.
-- source: https://developers.google.com/search/docs/crawling-indexing/http-network-errors
-- search-console: Server error (5xx)
SELECT loc AS url, CASE WHEN error = '' THEN trim(statuses || ' ' || status) ELSE error END AS detail,
       document
FROM page WHERE fault = 'page-error'
