-- title: URLs that differ only in case
-- severity: warning
-- unit: URLs
-- cause: url-uppercase, page-redirects, page-canonical-elsewhere, page-canonical-variant
-- detects: URLs that are equal apart from scheme, www., final slash, case and tracking parameters,
--   and that differ in the case of the path.
-- meaning: Paths are case-sensitive, so these are two URLs, most likely for the same page.
-- advice: List one spelling.
-- source: https://www.rfc-editor.org/rfc/rfc3986
SELECT arg_min(loc, row(bare_path, place)) AS url,
       arg_max(loc, row(bare_path, place)) AS detail,
       arg_min(document, row(bare_path, place)) AS document
FROM repeated
GROUP BY folded
HAVING min(bare_path) <> max(bare_path)
