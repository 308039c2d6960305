-- title: Empty path segments
-- severity: info
-- unit: URLs
-- detects: The path contains `//`.
-- meaning: Such URLs come from joined templates, and are copies of other pages.
-- advice: Repair the template.
-- source: https://www.rfc-editor.org/rfc/rfc3986
SELECT loc AS url, '' AS detail, document
FROM unusual_url
WHERE contains(path, '//')
