-- title: Language codes that are not valid
-- severity: error
-- unit: links
-- needs: hreflang
-- detects: The code is neither x-default nor an ISO 639-1 language, optionally with an ISO 15924
--   script and an ISO 3166-1 alpha-2 region.
-- meaning: Search engines ignore an unknown code: en-UK is not the English of any country.
-- advice: Use the ISO codes: en-GB, es-MX.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
SELECT u.loc AS url, concat_ws(': ', a.written, nullif(l.hint, '')) AS detail, a.document,
       nullif(a.file, '') AS file, a.file_line
FROM alternate a JOIN language l ON l.code = a.hreflang AND NOT l.is_valid
JOIN url_row u ON u.id = a.url
