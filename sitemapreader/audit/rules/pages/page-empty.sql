-- title: Listed pages that show nothing
-- severity: error
-- unit: pages
-- needs: pages, visits
-- detects: The page returns 200 and no byte, or HTML without a text, an image, a frame or a form in
--   its body. A page that has scripts does not hit where most pages of the site, or several and most
--   of its folder, are such ones: a browser builds these.
-- meaning: Search engines take an empty page for a soft 404, and drop it.
-- advice: Find out why nothing was written (a failed build, a full disk, an error of a template),
--   or remove the page from the sitemap.
-- source: https://developers.google.com/search/docs/crawling-indexing/http-network-errors
-- search-console: Soft 404
SELECT loc AS url, CASE WHEN shows = 'scripts' THEN 'only scripts' ELSE '' END AS detail, document,
       nullif(file, '') AS file
FROM page WHERE fault = 'page-empty'
