-- title: Required news field is missing
-- severity: error
-- unit: URLs
-- detects: The record has no name, language, publication_date or title, or a language that is not
--   in ISO 639 (zh-cn and zh-tw are allowed).
-- meaning: Google News refuses articles without these fields.
-- advice: Write all four fields.
-- source: https://community.marfeel.com/t/sitemap-audits-documentation/60622
-- search-console: Missing XML tag
SELECT u.loc AS url,
       concat_ws(', ', CASE WHEN n.name IS NULL THEN 'no name' END,
                 CASE WHEN n.language IS NULL THEN 'no language' END,
                 CASE WHEN n.publication_date IS NULL THEN 'no publication_date' END,
                 CASE WHEN n.title IS NULL THEN 'no title' END,
                 CASE WHEN l.is_language = false THEN 'language ' || n.language END) AS detail,
       u.document
FROM news n JOIN url_row u ON u.id = n.url
LEFT JOIN language l ON l.code = lower(n.language)
WHERE n.name IS NULL OR n.language IS NULL OR n.publication_date IS NULL OR n.title IS NULL
   OR l.is_language = false
