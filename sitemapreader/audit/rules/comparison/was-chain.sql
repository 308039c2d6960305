-- title: Old URLs with a chain of redirects
-- severity: warning
-- unit: old URLs
-- needs: was
-- detects: An old URL leads to a page through two redirects or more.
-- meaning: Each redirect costs visitors and crawlers a request, and a chain breaks at its weakest
--   link.
-- advice: Redirect each old URL to its final URL at once.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, chain AS detail, NULL AS document
FROM page WHERE is_old AND not_judged IS NULL AND contains(statuses, ' ')
  AND status < 400 AND error = ''
