-- title: Sitemaps that nothing names
-- severity: warning
-- unit: unnamed sitemaps
-- needs: folder
-- detects: The built folder has a sitemap that neither robots.txt nor an index names, and it lists
--   pages that no other sitemap lists. Its pages do not count as unlisted. A note where the base
--   URL has a path, because the robots.txt of the host is not in the folder.
-- meaning: No search engine reads it.
-- advice: Name it in robots.txt or in the index.
-- source: https://www.sitemaps.org/protocol.html#submit_robots
SELECT url, count_units(pages, 'pages') AS detail, NULL AS document,
       CASE WHEN is_whole THEN 'warning' ELSE 'info' END AS severity
FROM unnamed, built
