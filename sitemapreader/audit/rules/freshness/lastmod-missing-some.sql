-- title: Some URLs have no lastmod
-- severity: info
-- unit: sitemaps
-- detects: Of at least `least_dated` URLs of a sitemap, more than none and less than `dated_share`
--   are dated.
-- meaning: Search engines can only guess when to visit these.
-- advice: Write lastmod for all pages of which it is known.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT url, (urls - dated) || ' of ' || urls || ' are not dated' AS detail, id AS document
FROM document
WHERE format IN ('urlset', 'rss', 'atom') AND news = 0
  AND urls >= $least_dated AND dated > 0 AND dated < $dated_share * urls
