-- title: http images on https pages
-- severity: warning
-- unit: images
-- detects: The image has an http URL, and the page an https URL.
-- meaning: Browsers block such images, or request them over https.
-- advice: Serve images over https.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
SELECT u.loc AS url, i.loc AS detail, u.document
FROM image i JOIN url_row u ON u.id = i.url
WHERE i.loc ILIKE 'http://%' AND u.loc ILIKE 'https://%'
