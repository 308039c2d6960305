-- title: Many nearly empty sitemaps
-- severity: info
-- unit: indexes
-- detects: An index has at least `tiny_children` readable children that are not feeds, and their
--   median is below `tiny_urls` URLs.
-- meaning: Each of them costs a request at every visit.
-- advice: Join them, because the same URLs then need fewer requests.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT i.url, count_units(count(*), 'children') || ', median '
           || count_units(median(child.urls)::UBIGINT, 'URLs') AS detail,
       i.id AS document
FROM document i JOIN document child ON child.parent_id = i.id AND child.via = 'index'
WHERE child.status IN ('complete', 'partial') AND child.children = 0
  AND NOT child.is_feed
GROUP BY i.id, i.url
HAVING count(*) >= $tiny_children AND median(child.urls) < $tiny_urls
