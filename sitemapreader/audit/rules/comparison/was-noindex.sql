-- title: Old URLs that lead to a page without indexing
-- severity: error
-- unit: old URLs
-- needs: was
-- detects: An old URL leads to a page that has noindex, none or a past unavailable_after, for all
--   robots or for an audited one.
-- meaning: Search engines drop the old URL, and may not index its successor.
-- advice: Remove the directive, or redirect to a page that may be indexed.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, NULL AS document, CASE WHEN refresh_seconds <= 5 THEN 'refresh to ' || refresh_url
       WHEN statuses <> '' THEN statuses || ' to ' || final_url ELSE '' END AS detail
FROM page WHERE fate = 'was-noindex'
