-- title: Old URLs with a temporary redirect
-- severity: warning
-- unit: old URLs
-- needs: was
-- detects: An old URL leads to a listed page through a redirect with 302, 303 or 307.
-- meaning: Search engines may keep the old URL in the index, and come back to it.
-- advice: Redirect with 301 or 308.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, statuses || ' to ' || final_url AS detail, NULL AS document
FROM page WHERE fate = 'was-temporary'
