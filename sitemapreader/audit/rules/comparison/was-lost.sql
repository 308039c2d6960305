-- title: Old URLs that are lost
-- severity: error
-- unit: old URLs
-- needs: was
-- detects: An old URL returns 404 or 410, directly or after redirects, has no file in a built
--   folder, or is or leads to a soft 404, as `page-soft-404` finds them, or to an empty page.
-- meaning: Visitors and links end there, and search engines forget the value of the page.
-- advice: Redirect each URL to its successor, with 301 or 308.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, NULL AS document, CASE WHEN statuses <> '' AND status < 400
       THEN statuses || ' to ' || final_url ELSE trim(statuses || ' ' || status) END AS detail
FROM page WHERE fate = 'was-lost'
