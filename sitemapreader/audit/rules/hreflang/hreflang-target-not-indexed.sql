-- title: Alternates that are not indexed
-- severity: warning
-- unit: links
-- needs: hreflang, pages
-- detects: The sitemap or the visited page of A names B, and B was visited: it redirects, fails, is
--   missing or an error page, requires a login, forbids indexing, or names another page as canonical.
-- meaning: Search engines ignore a link to a page that they do not index, and show no version of it
--   in that language.
-- advice: Name the final, canonical URL of each version.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
WITH named AS (
    SELECT a.url, a.key, a.href, NULL AS file, NULL AS file_line
    FROM alternate a WHERE a.hreflang IS NOT NULL AND a.file IS NULL
    UNION ALL
    SELECT p.url, a.key, a.key AS href, nullif(p.file, '') AS file, a.line AS file_line
    FROM page p JOIN page_alternate a ON a.page = p.key WHERE p.is_indexed
)
SELECT page.loc AS url, min(n.href || ' ' || t.why) AS detail, page.document, min(n.file) AS file,
       min(n.file_line) AS file_line
FROM named n JOIN target t ON t.key = n.key AND t.why IS NOT NULL
JOIN url page ON page.id = n.url AND page.key <> n.key
GROUP BY page.id, page.loc, page.document, n.key
