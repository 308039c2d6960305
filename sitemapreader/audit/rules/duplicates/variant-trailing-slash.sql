-- title: Same URL with and without final slash
-- severity: warning
-- unit: URLs
-- detects: Keys that are one when scheme, www., final slash, case and tracking parameters are
--   taken away differ in a final slash of the path.
-- meaning: Two URLs compete for one page.
-- advice: List the canonical one.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT arg_min(loc, has_slash) AS url, arg_max(loc, has_slash) AS detail,
       arg_min(document, has_slash) AS document
FROM repeated
GROUP BY folded
HAVING count(DISTINCT has_slash) > 1
