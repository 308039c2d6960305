-- title: Files that are not pages
-- severity: warning
-- unit: URLs
-- detects: The path ends in one of the suffixes `asset_suffixes`.
-- meaning: Search engines index pages; images belong in image:image.
-- advice: List pages.
-- source: https://www.semrush.com/kb/542-site-audit-issues-list
SELECT loc AS url, '' AS detail, document
FROM url
-- a simple URL ends as its path does
WHERE regexp_matches(CASE WHEN is_simple THEN loc ELSE path END, $assets)
