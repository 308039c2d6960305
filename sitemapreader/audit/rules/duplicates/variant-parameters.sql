-- title: URLs that differ only in tracking parameters
-- severity: warning
-- unit: URLs
-- cause: url-tracking-parameter, page-canonical-elsewhere
-- detects: URLs that are equal apart from scheme, www., final slash, case and tracking parameters,
--   and that differ in tracking or session parameters.
-- meaning: These URLs are copies of one page.
-- advice: List the URL without the parameters.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT arg_max(loc, row(extra, place)) AS url,
       arg_min(loc, row(extra, place)) AS detail,
       arg_max(document, row(extra, place)) AS document
FROM repeated
GROUP BY folded
HAVING min(extra) <> max(extra)
