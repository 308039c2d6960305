-- title: URLs with session identifiers
-- severity: error
-- unit: URLs
-- detects: A parameter in query or path is one of `session_parameters`.
-- meaning: Each visit makes new URLs; crawlers drown in copies.
-- advice: List it without them.
-- source: https://www.sitemaps.org/protocol.html
SELECT loc AS url, regexp_extract(path || '?' || query, $session, 2) AS detail, document
FROM unusual_url
WHERE (query <> '' AND regexp_matches(query, $session))
  OR (contains(path, ';') AND regexp_matches(path, $session))
