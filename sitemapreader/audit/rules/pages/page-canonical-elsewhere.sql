-- title: Listed pages that name another page as canonical
-- severity: error
-- unit: pages
-- needs: pages
-- cause: scheme-http, host-mixed-www, variant-scheme, variant-www, url-session-id,
--   host-not-public
-- detects: A canonical link of the head or of the Link header names another page, or two such links
--   disagree. A warning where only scheme, www., the final slash or case differ.
-- meaning: Search engines index the other page instead.
-- advice: List the canonical page if it returns 200, or correct the canonical. A canonical page that
--   is not listed was not requested.
-- source: https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls
-- search-console: Alternate page with proper canonical tag
SELECT loc AS url, CASE WHEN canonicals > 1 THEN canonicals || ' different ones, ' ELSE '' END || canonical AS detail,
       document, nullif(file, '') AS file, canonical_line AS file_line,
       CASE WHEN canonical_differs_by <> '' AND canonicals = 1 THEN 'warning' ELSE 'error' END AS severity
FROM page WHERE not_judged IS NULL AND is_listed AND fault IS NULL
  AND (canonicals > 1 OR canonical_key <> final_key)
