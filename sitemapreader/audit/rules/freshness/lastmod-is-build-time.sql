-- title: lastmod is the time when the sitemap was made
-- severity: warning
-- unit: sitemaps
-- detects: Over `build_share` of at least `least_dated` dated URLs of a sitemap are within
--   `build_minutes` of its Last-Modified or of its fetch, and they are not all equal. News sitemaps
--   and feeds are left out.
-- meaning: The clock of the generator says nothing about the pages.
-- advice: Take the date from the content, not from the clock.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT d.url,
       count(*) || ' of ' || d.dated || ' within ' || $build_minutes || ' min of the file'
       AS detail, d.id AS document
FROM document d JOIN url_row u ON u.document = d.id
WHERE d.news = 0 AND NOT d.is_feed
  AND d.dated >= $least_dated AND d.common_count <= $equal_share * d.dated
  AND (abs(epoch(u.lastmod) - epoch(d.last_modified)) <= 60 * $build_minutes
       OR abs(epoch(u.lastmod) - epoch(d.fetched_at)) <= 60 * $build_minutes)
GROUP BY d.id, d.url, d.dated
HAVING count(*) > $build_share * d.dated
