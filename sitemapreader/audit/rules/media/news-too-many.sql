-- title: Over 1,000 articles
-- severity: error
-- unit: sitemaps
-- detects: More than 1,000 URLs with `news:news` in a sitemap.
-- meaning: The rest is ignored.
-- advice: Split it.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
SELECT url, news || ' articles' AS detail, id AS document FROM document WHERE news > 1000
