-- title: No URL has a lastmod
-- severity: warning
-- unit: sitemaps
-- detects: A sitemap or feed of at least `least_dated` URLs has no lastmod. News sitemaps and text
--   files are left out.
-- meaning: lastmod is the only hint on when to come back that search engines use.
-- advice: Write lastmod where you know the last significant change.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT url, count_units(urls, 'URLs') || ', none is dated' AS detail, id AS document
FROM document
WHERE format IN ('urlset', 'rss', 'atom') AND news = 0 AND urls >= $least_dated AND dated = 0
