-- title: Upper case in the path
-- severity: info
-- unit: URLs
-- detects: A to Z in the path, outside of percent-encoded bytes.
-- meaning: Servers tell case apart; links in another case make copies.
-- advice: Use one case throughout.
-- source: https://www.rfc-editor.org/rfc/rfc3986
SELECT loc AS url, '' AS detail, document
FROM unusual_url
WHERE CASE WHEN path = lower(path) THEN false
  ELSE regexp_matches(regexp_replace(path, '%[0-9A-Fa-f]{2}', '', 'g'), '[A-Z]') END
