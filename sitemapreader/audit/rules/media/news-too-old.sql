-- title: Old articles in a news sitemap
-- severity: error
-- unit: URLs
-- detects: publication_date is older than `news_hours`.
-- meaning: News sitemaps are for the last two days; older articles are not shown as news.
-- advice: Remove news:news, or the URL, after two days.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
SELECT u.loc AS url, strftime(n.publication_date, '%Y-%m-%d') AS detail, u.document
FROM news n JOIN url_row u ON u.id = n.url
WHERE n.publication_date < $now - to_hours($news_hours)
