-- title: One language twice, or one URL for two languages
-- severity: warning
-- unit: URLs
-- needs: hreflang
-- detects: A record has one code with different URLs, or one URL with codes of two languages.
-- meaning: Search engines choose one of them by chance.
-- advice: Write one link for each language.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
SELECT u.loc AS url, min(c.detail) AS detail, any_value(u.document) AS document,
       nullif(max(c.file), '') AS file, max(c.file_line) AS file_line
FROM (
    SELECT url, min(written) || ': ' || min(href) || ' and ' || max(href) AS detail, max(file) AS file,
           max(file_line) AS file_line
    FROM alternate WHERE hreflang IS NOT NULL
    GROUP BY url, hreflang HAVING min(key) <> max(key)
    UNION ALL
    SELECT url, min(written) || ' and ' || max(written) || ': ' || min(href) AS detail,
           max(file), max(file_line)
    FROM alternate WHERE hreflang IS NOT NULL AND hreflang <> 'x-default'
    GROUP BY url, key HAVING min(split_part(hreflang, '-', 1)) <> max(split_part(hreflang, '-', 1))
) c JOIN url_row u ON u.id = c.url
GROUP BY u.id, u.loc
