-- title: Sitemaps that nothing names
-- severity: warning
-- unit: unnamed sitemaps
-- needs: folder
-- detects: The built folder has a file that is named as a sitemap and lists URLs, and neither robots.txt nor
--   an index names it. Its pages do not count as unlisted.
-- meaning: Nobody reads it.
-- advice: Name it in robots.txt or in the index.
-- source: https://www.sitemaps.org/protocol.html#submit_robots
SELECT url, urls || ' URLs' AS detail, NULL AS document FROM unnamed
