-- title: Old URLs that still respond with their own page
-- severity: warning
-- unit: old URLs
-- needs: was
-- detects: An old URL leads to a page of its own host, directly or after redirects. No page of that
--   host is listed, and the canonical page is not listed either. Or it does not redirect, though
--   the list of old URLs has another page in a column `new`.
-- meaning: The page has not moved: search engines keep the old URL, and find the new one as a
--   duplicate.
-- advice: Redirect the URL with 301 or 308 to its successor.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, NULL AS document, concat(
           status, CASE WHEN statuses <> '' THEN ' after ' || chain END, ', not to ' || t.new
       ) AS detail
FROM page LEFT JOIN old_target t USING (key) WHERE fate = 'was-alive'
