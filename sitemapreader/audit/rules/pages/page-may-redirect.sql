-- title: Listed pages that most servers redirect
-- severity: info
-- unit: pages
-- needs: folder, pages
-- detects: The URL has no slash at its end, and its file in the built folder is the index of a
--   folder: /about, and about/index.html. Left out are hosts that are known to respond without a
--   redirect (vercel.app, or a line of `_redirects` with 200); for hosts that are known to redirect
--   (github.io, gitlab.io, netlify.app, pages.dev, a file CNAME, or a line of `_redirects` with 301),
--   `page-redirects` hits instead.
-- meaning: Apache, nginx and most hosts redirect to the URL with the slash, and a sitemap should
--   list the URLs that search engines index.
-- advice: List the URL with the slash, or make sure that your host responds without a redirect.
-- source: https://developers.google.com/search/docs/crawling-indexing/301-redirects
SELECT loc AS url, file AS detail, document FROM page
WHERE is_listed AND not_judged IS NULL AND fault IS NULL AND may_redirect
