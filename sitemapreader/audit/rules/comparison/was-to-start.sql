-- title: Old URLs that lead to the start page
-- severity: warning
-- unit: old URLs
-- needs: was
-- detects: An old URL that is no start page redirects to one, or has a refresh to it within five seconds. A
--   start page is that of a host, or the URL of the site.
-- meaning: Search engines take that for a page that is not found, and visitors do not find what they look
--   for.
-- advice: Redirect each to its successor, or answer 404 if there is none.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, NULL AS document, CASE WHEN refresh_seconds <= 5 THEN 'refresh to ' || refresh_url
       ELSE statuses || ' to ' || final_url END AS detail
FROM page WHERE fate = 'was-to-start'
