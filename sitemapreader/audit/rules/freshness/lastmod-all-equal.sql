-- title: lastmod is the same for all URLs
-- severity: info
-- unit: sitemaps
-- detects: Over `equal_share` of at least `least_dated` dated URLs of a sitemap have the same
--   lastmod. News sitemaps are left out.
-- meaning: The date is the time of a build, not of a change, so search engines stop believing it.
-- advice: Write the date of the page's last change, or leave lastmod out.
-- source: https://blogs.bing.com/webmaster/february-2023/The-Importance-of-Setting-the-lastmod-Tag-in-Your-Sitemap
SELECT url,
       common_count || ' of ' || dated || ' are ' || strftime(common_lastmod, '%Y-%m-%dT%H:%M:%SZ')
       AS detail, id AS document
FROM document
WHERE news = 0 AND dated >= $least_dated AND common_count > $equal_share * dated
