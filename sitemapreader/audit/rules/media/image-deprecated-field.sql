-- title: Fields that Google removed
-- severity: info
-- unit: sitemaps
-- detects: Images have a caption, geo_location, title or license. Counted once for each sitemap.
-- meaning: Google has ignored them since 2022; they make sitemaps larger.
-- advice: Remove them, because structured data replaces them.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/image-sitemaps
SELECT d.url,
       concat_ws(', ', CASE WHEN count(i.caption) > 0 THEN 'caption x ' || count(i.caption) END,
                 CASE WHEN count(i.title) > 0 THEN 'title x ' || count(i.title) END,
                 CASE WHEN count(i.geo_location) > 0
                      THEN 'geo_location x ' || count(i.geo_location) END,
                 CASE WHEN count(i.license) > 0 THEN 'license x ' || count(i.license) END)
       AS detail, d.id AS document
FROM image i JOIN document d ON d.id = i.document
WHERE coalesce(i.caption, i.title, i.geo_location, i.license) IS NOT NULL
GROUP BY d.id, d.url
