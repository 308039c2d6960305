-- title: URL in several sitemaps
-- severity: warning
-- unit: URLs
-- detects: The same URL, in any spelling, in two or more documents that are neither feeds nor
--   news sitemaps.
-- meaning: Dates may contradict each other, and coverage by sitemap can no longer be read.
-- advice: List each URL in one sitemap.
-- source: https://www.screamingfrog.co.uk/guides/sitemaps/
SELECT min(r.loc) AS url, 'also in ' || max(d.url) AS detail,
       arg_min(d.id, d.url) AS document
FROM repeated r JOIN document d ON d.id = r.document
WHERE NOT d.is_feed AND d.news = 0
GROUP BY r.key
HAVING min(r.document) <> max(r.document)
