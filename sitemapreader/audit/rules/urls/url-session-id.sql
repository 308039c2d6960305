-- title: URLs with session identifiers
-- severity: error
-- unit: URLs
-- detects: A parameter of the query or path is one of `session_parameters`.
-- meaning: Each visit makes new URLs, so crawlers fetch copies without end.
-- advice: List the URL without these parameters.
-- source: https://www.sitemaps.org/protocol.html
SELECT loc AS url, regexp_extract(concat_ws('?', path, nullif(query, '')), $session, 2) AS detail, document
FROM unusual_url
WHERE (query <> '' AND regexp_matches(query, $session))
  OR (contains(path, ';') AND regexp_matches(path, $session))
