-- title: One URL, several dates
-- severity: warning
-- unit: URLs
-- detects: A URL is listed more than once, with different lastmods. Feeds and news sitemaps are
--   left out.
-- meaning: Search engines believe none of these dates.
-- advice: Give a URL one date.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT min(r.loc) AS url, min(r.lastmod_text) || ' and ' || max(r.lastmod_text) AS detail,
       arg_min(r.document, row(r.lastmod, r.place)) FILTER (r.lastmod IS NOT NULL) AS document
FROM repeated r JOIN document d ON d.id = r.document
WHERE NOT d.is_feed AND d.news = 0
GROUP BY r.key
HAVING min(r.lastmod) <> max(r.lastmod)
