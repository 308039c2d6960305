-- title: Listed pages without a file
-- severity: error
-- unit: pages
-- needs: folder, pages
-- cause: base-url-elsewhere
-- detects: The built folder has no file for the URL, or the URL is not below the base URL of the
--   folder. A warning where .htaccess, web.config, _worker.js or staticwebapp.config.json may serve
--   it.
-- meaning: The page will return 404 once the folder is deployed.
-- advice: Build the page, or remove it from the sitemap.
-- source: https://sitebulb.com/hints/xml-sitemaps/
SELECT loc AS url,
       concat_ws(' ', nullif(statuses, ''),
                 CASE WHEN NOT starts_with(key || '/', base_key) THEN 'not below ' || base_url END) AS detail,
       document,
       CASE WHEN may_answer_more THEN 'warning' ELSE 'error' END AS severity
FROM page, built WHERE fault = 'page-missing' AND NOT answers_all
