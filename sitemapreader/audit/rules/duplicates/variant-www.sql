-- title: Same URL with and without www
-- severity: error
-- unit: URLs
-- detects: Keys that are one when scheme, www., final slash, case and tracking parameters are
--   taken away differ in a leading `www.`.
-- meaning: Each spelling is a URL of its own; one of them redirects.
-- advice: List the canonical host.
-- source: https://support.google.com/webmasters/answer/7451001
SELECT arg_min(loc, has_www) AS url, arg_max(loc, has_www) AS detail,
       arg_min(document, has_www) AS document
FROM repeated
GROUP BY folded
HAVING count(DISTINCT has_www) > 1
