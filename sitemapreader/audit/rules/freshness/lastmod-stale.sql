-- title: Most dates are years old
-- severity: info
-- unit: sitemaps
-- detects: Over `stale_share` of at least `least_dated` dated URLs of a sitemap are older than
--   `stale_years`.
-- meaning: The dates may be right, or the generator may no longer notice edits.
-- advice: Check that lastmod changes when a page is edited.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT d.url,
       count(*) || ' of ' || d.dated || ' before '
       || strftime($now - to_years($stale_years), '%Y-%m-%d') AS detail,
       d.id AS document
FROM document d JOIN url_row u ON u.document = d.id
WHERE d.dated >= $least_dated AND u.lastmod < $now - to_years($stale_years)
GROUP BY d.id, d.url, d.dated
HAVING count(*) > $stale_share * d.dated
