-- title: Over 1,000 images for a URL
-- severity: warning
-- unit: URLs
-- detects: A record has more than 1,000 `image:image`.
-- meaning: Search engines ignore the rest.
-- advice: List the most important images.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
SELECT u.loc AS url, i.images || ' images' AS detail, u.document
FROM (SELECT url, count(*) AS images FROM image GROUP BY url HAVING count(*) > 1000) i
JOIN url_row u ON u.id = i.url
