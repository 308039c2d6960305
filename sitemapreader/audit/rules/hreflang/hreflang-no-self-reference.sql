-- title: Pages that do not list themselves
-- severity: warning
-- unit: URLs
-- needs: hreflang
-- detects: The record has hreflang links, but none to its own loc.
-- meaning: Each version must list itself and all others.
-- advice: Add the page's own language.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
SELECT u.loc AS url, 'links to ' || count_units(l.links, 'others') AS detail, u.document,
       nullif(l.file, '') AS file, l.file_line
FROM (
    SELECT url, count(*) AS links, max(file) AS file, min(file_line) AS file_line FROM hreflang_link
    GROUP BY url HAVING count(*) FILTER (page = target) = 0
) l JOIN url_row u ON u.id = l.url
