-- title: Some URLs have no lastmod
-- severity: info
-- unit: sitemaps
-- detects: Some of at least `least_dated` URLs of a sitemap are dated, but less than `dated_share`
--   of them.
-- meaning: Search engines can only guess when to visit the undated pages.
-- advice: Write lastmod for all pages whose last change you know.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT url, (urls - dated) || ' of ' || urls || ' are not dated' AS detail, id AS document
FROM document
WHERE format IN ('urlset', 'rss', 'atom') AND news = 0
  AND urls >= $least_dated AND dated > 0 AND dated < $dated_share * urls
