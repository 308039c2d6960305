-- title: Over 1,000 articles
-- severity: error
-- unit: sitemaps
-- detects: A sitemap has more than 1,000 URLs with `news:news`.
-- meaning: Search engines ignore the rest.
-- advice: Split the sitemap.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
SELECT url, news || ' articles' AS detail, id AS document FROM document WHERE news > 1000
