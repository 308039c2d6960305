-- title: Old URLs that lead to the start page
-- severity: warning
-- unit: old URLs
-- needs: was
-- detects: An old URL that is not a start page redirects to one, or has a refresh to one within
--   five seconds. A start page is the root of a host, or the URL of the site.
-- meaning: Search engines treat such a redirect as a missing page, and visitors do not find what
--   they want.
-- advice: Redirect each URL to its successor, or return 404 if there is none.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, NULL AS document, CASE WHEN refresh_seconds <= 5 THEN 'refresh to ' || refresh_url
       ELSE statuses || ' to ' || final_url END AS detail
FROM page WHERE fate = 'was-to-start'
