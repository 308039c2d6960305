-- title: Listed pages behind a login
-- severity: warning
-- unit: pages
-- needs: pages
-- detects: The page answers 401, or redirects to a path with a segment such as login, signin, sso or
--   auth that its own path has not.
-- meaning: Neither visitors from a search nor crawlers see it.
-- advice: Take it out of the sitemap, or show it without a login.
-- source: https://sitebulb.com/hints/xml-sitemaps/
-- search-console: Blocked due to unauthorized request (401)
SELECT loc AS url, CASE WHEN status IN (401, 407) THEN trim(statuses || ' ' || status) ELSE statuses || ' to ' || final_url END AS detail,
       document
FROM page WHERE fault = 'page-login'
