-- title: Listed pages that redirect
-- severity: warning
-- unit: pages
-- needs: pages
-- detects: The page redirects to another URL, or has a meta refresh to another URL within five
--   seconds.
-- meaning: A sitemap should list the URLs that search engines index.
-- advice: List the final URL.
-- source: https://sitebulb.com/hints/xml-sitemaps/, https://developers.google.com/search/docs/crawling-indexing/301-redirects
-- search-console: Page with redirect
SELECT loc AS url, concat_ws(' ',
    CASE WHEN final_key <> key THEN statuses ELSE 'refresh' END,
    'to', CASE WHEN final_key <> key THEN final_url ELSE refresh_url END,
    CASE WHEN differs_by <> '' AND final_key <> key THEN '(' || differs_by || ')' END,
    CASE WHEN final_key <> key AND final_key IN (SELECT key FROM url) THEN 'which is listed' END
) AS detail, document,
    CASE WHEN final_key = key THEN nullif(file, '') END AS file,
    CASE WHEN final_key = key THEN refresh_line END AS file_line
FROM page WHERE fault = 'page-redirects'
