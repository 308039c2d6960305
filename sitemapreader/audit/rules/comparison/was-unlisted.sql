-- title: Old URLs that lead to an unlisted page
-- severity: warning
-- unit: old URLs
-- needs: was, complete
-- detects: An old URL leads to a page, directly or after redirects, and neither that page nor its
--   canonical page is in the sitemaps.
-- meaning: Either the page is no longer meant to be indexed, or the new sitemap lacks it.
-- advice: List the page, or redirect to a listed page.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, NULL AS document, CASE WHEN refresh_seconds <= 5 THEN 'refresh to ' || refresh_url
       WHEN statuses <> '' THEN statuses || ' to ' || final_url ELSE '' END AS detail
FROM page WHERE fate = 'was-unlisted'
