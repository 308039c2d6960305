-- title: No page for all other languages
-- severity: info
-- unit: sets of languages
-- needs: hreflang
-- detects: The record has hreflang links, but neither it nor the visited page has x-default.
--   Counted once for each set of codes.
-- meaning: Visitors in any other language get one of the versions by chance.
-- advice: Name the page for all others as x-default.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
SELECT arg_min(u.loc, place_of(d.rank, u.id)) AS url,
       arg_min(shown, place_of(d.rank, u.id)) || ' (' || count_units(count(*), 'URLs') || ')' AS detail,
       arg_min(u.document, place_of(d.rank, u.id)) AS document,
       nullif(arg_min(coalesce(file, ''), place_of(d.rank, u.id)), '') AS file,
       nullif(arg_min(coalesce(file_line, 0), place_of(d.rank, u.id)), 0) AS file_line
FROM (
    SELECT url, string_agg(DISTINCT hreflang, ', ' ORDER BY hreflang) AS codes,
           string_agg(DISTINCT written, ', ' ORDER BY written) AS shown,
           max(file) AS file, min(file_line) AS file_line
    FROM alternate WHERE hreflang IS NOT NULL AND url NOT IN (
        SELECT page.url FROM page JOIN page_alternate a ON a.page = page.key
        WHERE a.hreflang = 'x-default' AND page.url IS NOT NULL
    )
    GROUP BY url HAVING count(*) FILTER (hreflang = 'x-default') = 0
) s JOIN url_row u ON u.id = s.url LEFT JOIN document d ON d.id = u.document
GROUP BY codes
