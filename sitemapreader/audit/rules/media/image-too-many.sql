-- title: Over 1,000 images for a URL
-- severity: warning
-- unit: URLs
-- detects: More than 1,000 `image:image` in a record.
-- meaning: The rest is ignored.
-- advice: List those that matter.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
SELECT u.loc AS url, i.images || ' images' AS detail, u.document
FROM (SELECT url, count(*) AS images FROM image GROUP BY url HAVING count(*) > 1000) i
JOIN url_row u ON u.id = i.url
