-- title: Files that are not pages
-- severity: warning
-- unit: URLs
-- detects: The path ends with one of the suffixes `asset_suffixes`.
-- meaning: Search engines index pages; images belong in image:image.
-- advice: List pages.
-- source: https://www.semrush.com/kb/542-site-audit-issues-list
SELECT loc AS url, '' AS detail, document
FROM url_row WHERE is_simple AND regexp_matches(loc, $assets) -- it ends as its path does
UNION ALL
SELECT loc AS url, '' AS detail, document FROM unusual_url WHERE regexp_matches(path, $assets)
