-- title: Neither ETag nor Last-Modified
-- severity: info
-- unit: sitemaps
-- needs: fetch
-- detects: A response with status 200 has neither of the two headers.
-- meaning: A crawler must fetch the whole file to learn that nothing has changed.
-- advice: Send one of them, and respond with 304 if nothing has changed, because crawlers come
--   daily.
-- source: https://www.rfc-editor.org/rfc/rfc9110
SELECT url, '' AS detail, id AS document
FROM document
WHERE is_http AND role = 'sitemap' AND http_status = 200 AND status IN ('complete', 'partial')
  AND etag IS NULL AND last_modified IS NULL
