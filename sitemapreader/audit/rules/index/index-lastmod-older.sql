-- title: The index dates a sitemap before its newest URL
-- severity: warning
-- unit: sitemaps
-- detects: The newest lastmod of a child's URLs that is not in the future is on a later day than
--   the child's lastmod in the index, and more than `zone_hours` later (a time zone).
-- meaning: Crawlers that trust the index skip the child, and miss its new URLs.
-- advice: Update the index with its children.
-- source: https://www.sitemaps.org/protocol.html
SELECT url, 'index ' || strftime(lastmod, '%Y-%m-%d') || ', newest URL '
       || strftime(newest, '%Y-%m-%d') AS detail, id AS document
FROM document
WHERE via = 'index' AND newest >= date_trunc('day', lastmod) + to_hours(24 + $zone_hours)
