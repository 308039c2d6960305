-- title: robots.txt names a sitemap that cannot be read
-- severity: error
-- unit: sitemaps
-- needs: robots, site
-- cause: base-url-elsewhere
-- detects: A document that robots.txt names could not be read, and the site did not refuse our
--   requests.
-- meaning: Search engines follow this line at each visit, and find nothing.
-- advice: Correct the line, or serve the file.
-- source: https://api-docs.lumar.io/docs/report-templates/crawl_sitemaps/sitemaps_broken_disallowed/
-- search-console: Couldn't fetch
SELECT url, concat_ws(' ', reason, http_status) AS detail, id AS document
FROM document
WHERE via = 'robots' AND role = 'sitemap' AND status = 'failed' AND NOT is_excused
