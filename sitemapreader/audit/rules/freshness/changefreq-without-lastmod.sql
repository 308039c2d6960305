-- title: Only fields that search engines ignore
-- severity: info
-- unit: sitemaps
-- detects: Over half of at least `least_dated` URLs of a sitemap have priority or changefreq, and
--   none has lastmod.
-- meaning: Google and Bing ignore both fields, and miss the one that they use.
-- advice: Replace both fields by lastmod.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT d.url,
       'changefreq x ' || count(u.changefreq) || ', priority x ' || count(u.priority) AS detail,
       d.id AS document
FROM document d JOIN url_row u ON u.document = d.id
WHERE d.urls >= $least_dated AND d.dated = 0
GROUP BY d.id, d.url, d.urls
HAVING count(coalesce(u.changefreq, u.priority::VARCHAR)) > d.urls / 2
