-- title: Pages whose hreflang differs from the sitemap
-- severity: warning
-- unit: pages
-- needs: pages, visits
-- detects: Page and sitemap both name versions in other languages, but their pairs of code and URL
--   differ. x-default counts where both have one.
-- meaning: Search engines drop versions that contradict each other.
-- advice: Generate both from one source.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
WITH visited AS (
    SELECT loc, key, final_key, url, document, file, alternate_line FROM page
    WHERE not_judged IS NULL AND is_listed AND fault IS NULL
), said AS (
    SELECT v.url, 'page' AS place, a.hreflang, a.key, a.key IN (v.key, v.final_key) AS is_own
    FROM visited v JOIN page_alternate a ON a.page = v.key
    UNION ALL
    SELECT v.url, 'sitemap' AS place, a.hreflang, a.key, a.key IN (v.key, v.final_key) AS is_own
    FROM visited v JOIN alternate a ON a.url = v.url
    WHERE a.hreflang IS NOT NULL AND a.file IS NULL
), compared AS (
    SELECT url, place, count(DISTINCT (hreflang, key)) FILTER (NOT is_own) AS pairs,
           list(DISTINCT hreflang || ' ' || key ORDER BY hreflang || ' ' || key)
               FILTER (NOT is_own AND hreflang <> 'x-default') AS links,
           min(key) FILTER (hreflang = 'x-default') AS fallback
    FROM said GROUP BY url, place
)
SELECT v.loc AS url, p.pairs || ' on the page, ' || s.pairs || ' in the sitemap' AS detail, v.document,
       nullif(v.file, '') AS file, v.alternate_line AS file_line
FROM visited v
JOIN compared p ON p.url = v.url AND p.place = 'page'
JOIN compared s ON s.url = v.url AND s.place = 'sitemap'
WHERE p.links <> s.links OR p.fallback <> s.fallback
