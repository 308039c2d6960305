-- title: http images on https pages
-- severity: warning
-- unit: images
-- detects: The image's scheme is http, the page's https.
-- meaning: Browsers block or upgrade them.
-- advice: Serve images over https.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
SELECT u.loc AS url, i.loc AS detail, u.document
FROM image i JOIN url_row u ON u.id = i.url
WHERE i.loc ILIKE 'http://%' AND u.loc ILIKE 'https://%'
