-- title: lastmod is newer than the page
-- severity: warning
-- unit: pages
-- needs: pages
-- detects: The sitemap's lastmod is more than a day newer than the date that the page itself gives.
-- meaning: Search engines ignore dates that they find to be false.
-- advice: Take the date from the content, not from the build.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT loc AS url, lastmod::DATE || ', the page says ' || modified::DATE AS detail, document FROM page
WHERE not_judged IS NULL AND is_listed AND fault IS NULL AND lastmod > modified + INTERVAL 1 DAY
