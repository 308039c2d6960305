-- title: Time without a zone
-- severity: info
-- unit: URLs
-- detects: A W3C datetime has a time but no time zone.
-- meaning: Readers may take it for UTC or for local time, which can be hours apart.
-- advice: Add Z or an offset.
-- source: https://www.sitemaps.org/protocol.html
-- search-console: Invalid date
SELECT loc AS url, lastmod_text AS detail, document
FROM url
WHERE contains(lastmod_text, ':') AND NOT ends_with(lastmod_text, 'Z') AND NOT contains(lastmod_text, '+')
  AND regexp_full_match(lastmod_text, '\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d(:\d\d([.,]\d+)?)?')
