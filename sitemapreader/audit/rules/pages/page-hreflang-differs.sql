-- title: Pages whose hreflang is not that of the sitemap
-- severity: warning
-- unit: pages
-- needs: pages, visits
-- detects: Page and sitemap both name versions in other languages, and pairs of code and URL differ.
-- meaning: Search engines drop versions that contradict each other.
-- advice: Make both from one source.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
SELECT p.loc AS url, p.pairs || ' on the page, ' || s.pairs || ' in the sitemap' AS detail, p.document,
       nullif(p.file, '') AS file, p.alternate_line AS file_line
FROM (
    SELECT page.loc, page.url, page.document, page.file, page.alternate_line, count(DISTINCT (a.hreflang, a.key)) AS pairs,
           list(DISTINCT a.hreflang || ' ' || a.key ORDER BY a.hreflang || ' ' || a.key) AS links
    FROM page JOIN page_alternate a ON a.page = page.key
    WHERE not_judged IS NULL AND is_listed AND fault IS NULL AND a.key NOT IN (page.key, page.final_key)
    GROUP BY ALL
) p JOIN (
    SELECT a.url, count(DISTINCT (a.hreflang, a.key)) AS pairs,
           list(DISTINCT a.hreflang || ' ' || a.key ORDER BY a.hreflang || ' ' || a.key) AS links
    FROM alternate a JOIN page ON page.url = a.url
    WHERE a.hreflang IS NOT NULL AND a.file IS NULL AND a.key NOT IN (page.key, page.final_key) GROUP BY a.url
) s ON s.url = p.url
WHERE p.links <> s.links
