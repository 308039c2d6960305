-- title: Listed pages that name another page as canonical
-- severity: error
-- unit: pages
-- needs: pages
-- cause: scheme-http, host-mixed-www, variant-scheme, variant-www, url-session-id,
--   host-not-public
-- detects: A canonical link of the head or of the Link header names another page, or two such links
--   disagree. Left out is another spelling of the same URL: see `page-canonical-variant`.
-- meaning: Search engines index the other page instead, or ignore a link to a page that they cannot
--   index.
-- advice: List only the canonical page, or correct the canonical.
-- source: https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls
-- search-console: Alternate page with proper canonical tag
SELECT loc AS url,
       CASE WHEN canonicals > 1 THEN canonicals || ' different ones, ' ELSE '' END || canonical
           || CASE WHEN t.why IS NOT NULL THEN ', which ' || t.why
                   WHEN canonical_key IN (SELECT key FROM url) THEN ', which is listed' ELSE '' END AS detail,
       document, nullif(file, '') AS file, canonical_line AS file_line
FROM page LEFT JOIN target t ON t.key = canonical_key
WHERE not_judged IS NULL AND is_listed AND fault IS NULL
  AND (canonicals > 1 OR canonical_key <> final_key AND canonical_differs_by = '')
