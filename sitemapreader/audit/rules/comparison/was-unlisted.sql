-- title: Old URLs that end at a page in no sitemap
-- severity: warning
-- unit: old URLs
-- needs: was, complete
-- detects: An old URL answers, at once or behind redirects, and neither the page where it ends nor its
--   canonical page is in the sitemaps.
-- meaning: Either the page is not meant to be indexed any more, or the new sitemap lacks it.
-- advice: List the page, or redirect to one that is listed.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, NULL AS document, CASE WHEN refresh_seconds <= 5 THEN 'refresh to ' || refresh_url
       WHEN statuses <> '' THEN statuses || ' to ' || final_url ELSE '' END AS detail
FROM page WHERE fate = 'was-unlisted'
