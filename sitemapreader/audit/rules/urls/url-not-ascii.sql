-- title: Characters that are not percent-encoded
-- severity: warning
-- unit: URLs
-- detects: A character outside ASCII in path or query; a host may have them.
-- meaning: The protocol asks for URLs escaped by RFC 3986; some readers drop such URLs.
-- advice: Percent-encode them as UTF-8.
-- source: https://www.sitemaps.org/protocol.html
SELECT loc AS url, '' AS detail, document
FROM unusual_url
WHERE CASE WHEN strlen(loc) = length(loc) THEN false
  ELSE strlen(path || query) <> length(path || query) END
