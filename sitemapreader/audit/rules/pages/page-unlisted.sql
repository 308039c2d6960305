-- title: Pages that no sitemap lists
-- severity: warning
-- unit: unlisted pages
-- needs: folder, pages, complete
-- cause: host-not-public, host-other
-- detects: The built folder has a page that may be indexed, and no sitemap lists it. Left out are
--   error pages, search.html, indexes of words, numbered parts of lists (/page/2/, /2026/11/),
--   parts of pages (without a title), and pages with a refresh, noindex, another canonical or a
--   Disallow in robots.txt. Archives, tags, categories and authors are a note if nothing else is
--   unlisted.
-- meaning: Search engines find the page late.
-- advice: List the page if it is meant to be indexed.
-- source: https://www.screamingfrog.co.uk/guides/sitemaps/
SELECT loc AS url, file AS detail, NULL AS document, file, CASE WHEN is_archive THEN 'info' END AS severity
FROM (
    SELECT loc, file, is_archive_path(path_of(key)) AS is_archive FROM page
    WHERE NOT is_listed AND NOT is_named AND not_judged IS NULL AND title IS NOT NULL AND NOT is_noindex
      AND refresh_url IS NULL
      AND (canonical_key IS NULL OR canonical_key = final_key OR canonical_differs_by = 'slash')
      AND statuses = '' AND key NOT IN (SELECT key FROM url) AND NOT is_numbered_path(path_of(key))
)
QUALIFY NOT is_archive OR bool_and(is_archive) OVER ()
