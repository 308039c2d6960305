-- title: Same URL with and without final slash
-- severity: warning
-- unit: URLs
-- cause: page-redirects, page-canonical-elsewhere, page-canonical-variant
-- detects: URLs that are equal apart from scheme, www., final slash, case and tracking parameters,
--   and that differ in the final slash of the path.
-- meaning: Two URLs compete for one page.
-- advice: List the canonical URL.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT arg_min(loc, row(has_slash, place)) AS url,
       arg_max(loc, row(has_slash, place)) AS detail,
       arg_min(document, row(has_slash, place)) AS document
FROM repeated
GROUP BY folded
HAVING min(has_slash) <> max(has_slash)
