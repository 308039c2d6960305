-- title: Expired videos
-- severity: warning
-- unit: videos
-- detects: expiration_date is in the past.
-- meaning: Search engines no longer show such videos.
-- advice: Remove the video.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
SELECT u.loc AS url, 'expired ' || strftime(v.expiration_date, '%Y-%m-%d') AS detail, u.document
FROM video v JOIN url_row u ON u.id = v.url
WHERE v.expiration_date < $now
