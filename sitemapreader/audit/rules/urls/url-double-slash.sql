-- title: Empty path segments
-- severity: info
-- unit: URLs
-- detects: `//` in the path.
-- meaning: They come from joined templates, and make copies.
-- advice: Repair the template.
-- source: https://www.rfc-editor.org/rfc/rfc3986
SELECT loc AS url, '' AS detail, document
FROM unusual_url
WHERE contains(path, '//')
