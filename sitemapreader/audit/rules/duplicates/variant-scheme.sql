-- title: Same URL with http and https
-- severity: error
-- unit: URLs
-- detects: Keys that are one when scheme, www., final slash, case and tracking parameters are
--   taken away differ in the scheme.
-- meaning: Each spelling is a URL of its own; one of them redirects.
-- advice: List the https one.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT arg_min(loc, row(scheme, place)) AS url,
       arg_max(loc, row(scheme, place)) AS detail,
       arg_min(document, row(scheme, place)) AS document
FROM repeated
GROUP BY folded
HAVING min(scheme) <> max(scheme)
