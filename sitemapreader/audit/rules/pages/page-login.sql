-- title: Listed pages behind a login
-- severity: warning
-- unit: pages
-- needs: pages
-- detects: The page returns 401, or redirects to a path with a segment such as login, signin, sso
--   or auth that its own path does not have.
-- meaning: Neither crawlers nor visitors from a search can see it.
-- advice: Remove it from the sitemap, or show it without a login.
-- source: https://sitebulb.com/hints/xml-sitemaps/
-- search-console: Blocked due to unauthorized request (401)
SELECT loc AS url, CASE WHEN status IN (401, 407) THEN trim(statuses || ' ' || status) ELSE statuses || ' to ' || final_url END AS detail,
       document
FROM page WHERE fault = 'page-login'
