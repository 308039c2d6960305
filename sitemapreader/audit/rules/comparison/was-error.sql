-- title: Old URLs that fail
-- severity: error
-- unit: old URLs
-- needs: was
-- detects: An old URL has a redirect loop, too many redirects, a redirect to an invalid URL, or no
--   response, while other URLs of its host respond; or it returns 5xx or another error than 404 and
--   410, directly or after redirects.
-- meaning: Visitors and links end there, and search engines do not find the new page.
-- advice: Redirect each URL to a page that returns 200, with 301 or 308.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, NULL AS document,
       trim(CASE WHEN error = '' THEN statuses || ' ' || status
                 ELSE split_part(statuses, ' ', 1) || ' ' || error END) AS detail
FROM page WHERE fate = 'was-error'
