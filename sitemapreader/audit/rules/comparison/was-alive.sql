-- title: Old URLs that still respond at the old host
-- severity: warning
-- unit: old URLs
-- needs: was
-- detects: An old URL leads to a page of its own host, directly or after redirects. No page of that
--   host is listed, and the canonical page is not listed either.
-- meaning: The page has not moved: search engines keep the old URL, and find the new one as a
--   duplicate.
-- advice: Redirect the URL with 301 or 308 to its successor.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, NULL AS document,
       trim(status || CASE WHEN statuses <> '' THEN ' after ' || chain ELSE '' END) AS detail
FROM page WHERE fate = 'was-alive'
