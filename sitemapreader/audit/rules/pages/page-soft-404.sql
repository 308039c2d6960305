-- title: Listed error pages without an error status
-- severity: warning
-- unit: pages
-- needs: pages, visits, probes
-- detects: The page returns 200 with the same text (apart from names) as a made-up path of its
--   folder, whatever the status of that path (in a built folder, 404.html), or of its host, if that
--   is an error; or both say that there is no page, and differ in no more than 10 words and 30% of
--   them; or both redirect to one page. The folder that the page leads to counts as well. Where all
--   pages of a folder are alike, the text must also say that the page is not found. Or the page is
--   404.html, at the top or in the folder of a language, and says so or is a file of a built folder.
--   Or it has no more than 400 characters, and a sentence that says that this page or product is gone.
-- meaning: Search engines index error pages, or drop the page as a soft 404.
-- advice: Return 404 where there is no page, and remove the page from the sitemap.
-- source: https://developers.google.com/search/docs/crawling-indexing/http-network-errors, https://docs.squirrelscan.com/rules/crawl
-- search-console: Soft 404
SELECT loc AS url, CASE WHEN final_key <> key THEN trim(statuses || ' to ' || final_url) ELSE '' END AS detail,
       document, nullif(file, '') AS file
FROM page WHERE fault = 'page-soft-404'
