-- title: Sitemap over http on an https site
-- severity: warning
-- unit: sitemaps
-- needs: fetch
-- detects: The sitemap was read over http, and most URLs of the sitemaps are https.
-- meaning: Anyone on the network path can change the list; the protocol counts http and https as
--   two hosts.
-- advice: Serve and name it over https.
-- source: https://blogs.bing.com/webmaster/february-2023/The-Importance-of-Setting-the-lastmod-Tag-in-Your-Sitemap
SELECT url, '' AS detail, id AS document
FROM document
WHERE is_http AND role = 'sitemap' AND urls + children > 0 AND starts_with(final_key, 'http:')
  AND (SELECT sum(urls) FILTER (scheme = 'https') > sum(urls) / 2 FROM host)
