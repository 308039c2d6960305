-- title: Listed pages that fail
-- severity: error
-- unit: pages
-- needs: pages
-- detects: Two requests fail, the second one after all other pages. The page has a redirect loop,
--   too many redirects, a redirect to an invalid URL, status 5xx or no response, while other pages
--   of the host respond.
-- meaning: Crawlers come more slowly, and drop the page if it keeps failing.
-- advice: Check the server's log for these requests.
-- source: https://developers.google.com/search/docs/crawling-indexing/http-network-errors
-- search-console: Server error (5xx)
SELECT loc AS url, document,
       trim(CASE WHEN error = '' THEN statuses || ' ' || status
                 ELSE split_part(statuses, ' ', 1) || ' ' || error END) AS detail
FROM page WHERE fault = 'page-error'
