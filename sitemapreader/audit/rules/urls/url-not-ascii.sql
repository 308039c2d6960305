-- title: Characters that are not percent-encoded
-- severity: warning
-- unit: URLs
-- detects: The path or query contains a character outside ASCII. A host may contain such
--   characters.
-- meaning: The protocol requires URLs that are escaped by RFC 3986, and some readers drop other
--   URLs.
-- advice: Percent-encode them as UTF-8.
-- source: https://www.sitemaps.org/protocol.html
SELECT loc AS url, '' AS detail, document
FROM unusual_url
WHERE CASE WHEN strlen(loc) = length(loc) THEN false
  ELSE strlen(path || query) <> length(path || query) END
