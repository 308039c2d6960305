-- title: Same URL with http and https
-- severity: error
-- unit: URLs
-- cause: scheme-http
-- detects: Keys that are one when scheme, www., final slash, case and tracking parameters are
--   taken away differ in the scheme.
-- meaning: Each spelling is a URL of its own; one of them redirects.
-- advice: List the https one.
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
