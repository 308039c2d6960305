-- title: Known URLs that are in no sitemap
-- severity: warning
-- unit: known URLs
-- needs: urls, complete
-- cause: page-unlisted
-- detects: A known URL is in no sitemap, in any spelling. Runs only after complete walks;
--   a sitemap with 404, 410 or a page in its place counts as none. URLs are left out that a crawl
--   found to be an error, a redirect, not HTML or not indexable.
-- meaning: Search engines find pages more slowly without a sitemap.
-- advice: List them if they are meant to be indexed.
-- source: https://www.screamingfrog.co.uk/guides/sitemaps/
SELECT loc AS url, '' AS detail, NULL AS document
FROM known
WHERE key NOT IN (SELECT key FROM url)
  AND key NOT IN (SELECT key FROM crawled WHERE NOT is_indexable)
