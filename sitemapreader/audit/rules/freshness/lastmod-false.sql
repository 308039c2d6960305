-- title: lastmod is newer than the page
-- severity: warning
-- unit: pages
-- needs: pages, visits
-- detects: The sitemap's lastmod is more than a day newer than the date that the page itself gives.
--   Or it is on a later day than in the audit of --since-audit, though the text of the page is the
--   same. Texts that several pages share are left out.
-- meaning: Search engines ignore dates that they find to be false.
-- advice: Take the date from the content, not from the build.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT p.loc AS url, p.document, p.lastmod::DATE || CASE
           WHEN e.key IS NULL THEN ', the page says ' || p.modified::DATE
           ELSE ', with the text of ' || e.lastmod::DATE END AS detail, nullif(p.file, '') AS file
FROM page p LEFT JOIN earlier e
  ON e.key = p.key AND e.text_hash = p.text_hash AND e.lastmod::DATE < p.lastmod::DATE
WHERE p.not_judged IS NULL AND p.is_listed AND p.fault IS NULL
  AND (p.lastmod > p.modified + INTERVAL 1 DAY OR e.key IS NOT NULL)
