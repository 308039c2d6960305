-- title: Required video field is missing
-- severity: error
-- unit: videos
-- detects: The record has no thumbnail_loc, title or description, or neither content_loc nor
--   player_loc.
-- meaning: Search engines refuse videos without these fields.
-- advice: Write these fields.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/video-sitemaps
-- search-console: Missing XML tag
SELECT u.loc AS url,
       concat_ws(', ', CASE WHEN v.thumbnail_loc IS NULL THEN 'no thumbnail_loc' END,
                 CASE WHEN v.title IS NULL THEN 'no title' END,
                 CASE WHEN v.description IS NULL THEN 'no description' END,
                 CASE WHEN coalesce(v.content_loc, v.player_loc) IS NULL
                      THEN 'neither content_loc nor player_loc' END) AS detail, u.document
FROM video v JOIN url_row u ON u.id = v.url
WHERE v.thumbnail_loc IS NULL OR v.title IS NULL OR v.description IS NULL
   OR coalesce(v.content_loc, v.player_loc) IS NULL
