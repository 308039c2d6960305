-- title: Alternates that are not indexed
-- severity: warning
-- unit: links
-- needs: hreflang, pages
-- detects: The sitemap or the visited page of A names B, and B was visited: it redirects, is missing
--   or an error page, requires a login, forbids indexing, or names another page as canonical.
-- meaning: Search engines ignore a link to a page that they do not index, and show no version of it
--   in that language.
-- advice: Name the final, canonical URL of each version.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
WITH visited AS (
    SELECT key, CASE
        WHEN fault = 'page-redirects' AND final_key <> key THEN 'redirects to ' || final_url
        WHEN fault = 'page-redirects' THEN 'refreshes to ' || refresh_url
        WHEN fault = 'page-login' THEN 'requires a login'
        WHEN fault = 'page-soft-404' THEN 'is an error page'
        WHEN fault IN ('page-missing', 'page-not-found', 'page-gone') THEN 'returns ' || status
        WHEN fault IS NULL AND is_hidden THEN 'forbids indexing'
        WHEN fault IS NULL AND canonical_key <> final_key THEN 'names ' || canonical || ' as canonical'
        END AS why
    FROM page WHERE is_listed AND not_judged IS NULL
    UNION ALL
    FROM target
), named AS (
    SELECT a.url, a.key, a.href, NULL AS file, NULL AS file_line
    FROM alternate a WHERE a.hreflang IS NOT NULL AND a.file IS NULL
    UNION ALL
    SELECT p.url, a.key, a.key AS href, nullif(p.file, '') AS file, a.line AS file_line
    FROM page p JOIN page_alternate a ON a.page = p.key WHERE p.is_indexed
)
SELECT page.loc AS url, min(n.href || ' ' || t.why) AS detail, page.document, min(n.file) AS file,
       min(n.file_line) AS file_line
FROM named n JOIN visited t ON t.key = n.key AND t.why IS NOT NULL
JOIN url page ON page.id = n.url AND page.key <> n.key
GROUP BY page.id, page.loc, page.document, n.key
