-- title: Most dates are years old
-- severity: info
-- unit: sitemaps
-- detects: Of at least `least_dated` dated URLs of a sitemap, over `stale_share` are older than
--   `stale_years`.
-- meaning: They may be right, or the generator no longer notices edits.
-- advice: Check that lastmod moves when a page is edited.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT d.url,
       count(*) || ' of ' || d.dated || ' before '
       || strftime($now - to_years($stale_years), '%Y-%m-%d') AS detail,
       d.id AS document
FROM document d JOIN url_row u ON u.document = d.id
WHERE d.dated >= $least_dated AND u.lastmod < $now - to_years($stale_years)
GROUP BY d.id, d.url, d.dated
HAVING count(*) > $stale_share * d.dated
