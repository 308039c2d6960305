-- title: Sitemaps behind a redirect
-- severity: warning
-- unit: sitemaps
-- needs: fetch
-- detects: A sitemap that robots.txt or an index names redirects to another address.
-- meaning: Each visit takes two requests, and a redirect to another host may not be followed.
-- advice: Name the final address.
-- source: https://blogs.bing.com/webmaster/february-2023/The-Importance-of-Setting-the-lastmod-Tag-in-Your-Sitemap
SELECT url, final_url AS detail, id AS document
FROM document
WHERE is_http AND role = 'sitemap' AND via IN ('robots', 'index') AND final_key <> key
