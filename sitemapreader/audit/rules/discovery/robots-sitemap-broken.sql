-- title: robots.txt names a sitemap that cannot be read
-- severity: error
-- unit: sitemaps
-- needs: robots, site
-- cause: base-url-elsewhere
-- detects: A document that robots.txt names could not be read, and the site did not refuse our
--   requests.
-- meaning: Search engines follow this line at each visit, and find nothing.
-- advice: Correct the line in robots.txt, or serve the file. In a build, let the generator write it.
-- source: https://api-docs.lumar.io/docs/report-templates/crawl_sitemaps/sitemaps_broken_disallowed/
-- search-console: Couldn't fetch
SELECT url,
       CASE WHEN reason = 'http-status' AND http_status = 404 AND NOT EXISTS (FROM document WHERE is_http)
            THEN 'the folder has no such file' ELSE concat_ws(' ', reason, http_status) END AS detail,
       id AS document
FROM broken_line
