-- title: http URLs on an https site
-- severity: error
-- unit: URLs
-- cause: host-not-public
-- detects: http URLs, where more URLs are https.
-- meaning: Each of them costs a redirect, and names a URL that is not canonical.
-- advice: List https URLs.
-- source: https://www.semrush.com/kb/542-site-audit-issues-list
SELECT loc AS url, '' AS detail, document
FROM url
WHERE document IN (SELECT document FROM host WHERE scheme = 'http') AND starts_with(key, 'http:')
  AND (SELECT sum(urls) FILTER (scheme = 'https') > sum(urls) FILTER (scheme = 'http') FROM host)
