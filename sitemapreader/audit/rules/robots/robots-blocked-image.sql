-- title: Images that robots.txt disallows
-- severity: warning
-- unit: images
-- needs: robots
-- detects: The same for `image:loc`, for origins whose robots.txt is known.
-- meaning: Images that may not be fetched are not shown in image search.
-- advice: Allow Googlebot-Image, or drop the image.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
SELECT url, robot AS detail, document FROM robots_hit WHERE kind = 'image'
