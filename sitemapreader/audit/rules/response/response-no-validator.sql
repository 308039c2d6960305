-- title: Neither ETag nor Last-Modified
-- severity: info
-- unit: sitemaps
-- needs: fetch
-- detects: An answer of a server with status 200 has neither of the two headers.
-- meaning: A crawler must fetch the whole file to learn that nothing has changed.
-- advice: Send one of them, and answer 304: crawlers ask daily.
-- source: https://www.rfc-editor.org/rfc/rfc9110
SELECT url, '' AS detail, id AS document
FROM document
WHERE is_http AND role = 'sitemap' AND http_status = 200 AND status IN ('complete', 'partial')
  AND etag IS NULL AND last_modified IS NULL
