-- title: URL in several sitemaps
-- severity: warning
-- unit: URLs
-- detects: Two or more documents list the same URL, in any spelling. Feeds and news sitemaps are
--   left out.
-- meaning: Their dates may contradict each other, and reports by sitemap count the URL twice.
-- advice: List each URL in one sitemap.
-- source: https://www.screamingfrog.co.uk/guides/sitemaps/
SELECT min(r.loc) AS url, 'also in ' || max(d.url) AS detail,
       arg_min(d.id, d.url) AS document
FROM repeated r JOIN document d ON d.id = r.document
WHERE NOT d.is_feed AND d.news = 0
GROUP BY r.key
HAVING min(r.document) <> max(r.document)
