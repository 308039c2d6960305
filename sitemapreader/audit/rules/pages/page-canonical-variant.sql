-- title: Listed pages whose canonical has another spelling
-- severity: warning
-- unit: pages
-- needs: pages
-- cause: scheme-http, host-mixed-www, variant-scheme, variant-www
-- detects: The one canonical link of a page names its own URL with another scheme, with or without
--   www., with or without the final slash, or in another case.
-- meaning: Search engines index the other spelling, and visit both.
-- advice: Write one spelling in the sitemap and in the canonical link: the one that returns 200.
-- source: https://developers.google.com/search/docs/crawling-indexing/consolidate-duplicate-urls
-- search-console: Alternate page with proper canonical tag
SELECT loc AS url, canonical || coalesce(', which ' || t.why, '') AS detail, document,
       nullif(file, '') AS file, canonical_line AS file_line
FROM page LEFT JOIN target t ON t.key = canonical_key
WHERE not_judged IS NULL AND is_listed AND fault IS NULL
  AND canonicals = 1 AND canonical_key <> final_key AND canonical_differs_by <> ''
