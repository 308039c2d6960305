-- title: Upper case in the path
-- severity: info
-- unit: URLs
-- detects: The path contains A to Z, apart from percent-encoded bytes.
-- meaning: Servers distinguish case, so a link in another case leads to a copy or an error.
-- advice: Use one case throughout.
-- source: https://www.rfc-editor.org/rfc/rfc3986
SELECT loc AS url, '' AS detail, document
FROM unusual_url
WHERE CASE WHEN path = lower(path) THEN false
  ELSE regexp_matches(regexp_replace(path, '%[0-9A-Fa-f]{2}', '', 'g'), '[A-Z]') END
