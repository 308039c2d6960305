-- title: Same URL with and without www
-- severity: error
-- unit: URLs
-- detects: URLs that are equal apart from scheme, www., final slash, case and tracking parameters,
--   and that differ in a leading `www.`.
-- meaning: Each spelling is a separate URL, and one of them redirects.
-- advice: List the canonical host.
-- source: https://support.google.com/webmasters/answer/7451001
SELECT arg_min(loc, row(has_www, place)) AS url,
       arg_max(loc, row(has_www, place)) AS detail,
       arg_min(document, row(has_www, place)) AS document
FROM repeated
GROUP BY folded
HAVING min(has_www) <> max(has_www)
