-- title: Listed pages that say in words alone that they are not found
-- severity: warning
-- unit: pages
-- needs: pages, visits, probes
-- detects: The page answers 200 with the text that a made-up path of its folder has, whatever the status of
--   that, but for their names; or both redirect to one page. Where all of a folder is alike, the text has to say so.
--   Or it is 404.html, at the top or in a language's folder, and says so or is a file of a built folder.
-- meaning: Error pages are indexed, or the page is dropped as one.
-- advice: Answer 404 where there is no page, and take the page out of the sitemap.
-- source: https://developers.google.com/search/docs/crawling-indexing/http-network-errors, https://docs.squirrelscan.com/rules/crawl
-- search-console: Soft 404
SELECT loc AS url, CASE WHEN final_key <> key THEN trim(statuses || ' to ' || final_url) ELSE '' END AS detail,
       document, nullif(file, '') AS file
FROM page WHERE fault = 'page-soft-404'
