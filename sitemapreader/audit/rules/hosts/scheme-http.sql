-- title: http URLs on an https site
-- severity: error
-- unit: URLs
-- cause: host-not-public
-- detects: http URLs are listed, but more URLs are https.
-- meaning: Each http URL costs a redirect, and is not the canonical URL.
-- advice: List https URLs.
-- source: https://www.semrush.com/kb/542-site-audit-issues-list
SELECT loc AS url, '' AS detail, document
FROM url
WHERE document IN (SELECT document FROM host WHERE scheme = 'http') AND starts_with(key, 'http:')
  AND (SELECT sum(urls) FILTER (scheme = 'https') > sum(urls) FILTER (scheme = 'http') FROM host)
