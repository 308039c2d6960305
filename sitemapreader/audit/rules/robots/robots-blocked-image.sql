-- title: Images that robots.txt disallows
-- severity: warning
-- unit: images
-- needs: robots, image-robots
-- cause: robots-blocks-site
-- detects: The rules of robots.txt disallow an `image:loc`, for origins whose robots.txt is known.
-- meaning: Image search does not show images that it may not fetch.
-- advice: Allow Googlebot-Image, or drop the image.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
SELECT url, robot AS detail, document FROM robots_hit WHERE kind = 'image'
