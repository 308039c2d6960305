-- title: Same URL with http and https
-- severity: error
-- unit: URLs
-- cause: scheme-http
-- detects: URLs that are equal apart from scheme, www., final slash, case and tracking parameters,
--   and that differ in the scheme.
-- meaning: Each spelling is a separate URL, and one of them redirects.
-- advice: List the https URL.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT one.hit.loc AS url,
       -- of several, the one that differs in the scheme alone
       arg_min(other.loc, row(after_scheme(other.key) <> after_scheme(one.hit.key), other.place)) AS detail,
       one.hit.document AS document
FROM (
    SELECT folded, arg_min({'loc': loc, 'key': key, 'document': document}, row(scheme, place)) AS hit
    FROM repeated GROUP BY folded HAVING min(scheme) <> max(scheme)
) one JOIN repeated other ON other.folded = one.folded AND other.scheme = 'https'
GROUP BY one.folded, one.hit
