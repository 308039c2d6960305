-- title: Articles of a date to come in a news sitemap
-- severity: error
-- unit: URLs
-- detects: publication_date is more than `future_hours` after now, which leaves room for time zones.
-- meaning: News search wants the date of the first publication, and shows no article before it.
-- advice: List an article when it is published, with the date of that moment.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
SELECT u.loc AS url, strftime(n.publication_date, '%Y-%m-%d') AS detail, u.document
FROM news n JOIN url_row u ON u.id = n.url
WHERE n.publication_date > $now + to_hours($future_hours)
