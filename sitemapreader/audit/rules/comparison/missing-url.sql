-- title: Known URLs that are in no sitemap
-- severity: warning
-- unit: known URLs
-- needs: urls, complete
-- detects: A known URL is not in the sitemaps, in whatever spelling; for complete walks only. What a crawl
--   found to be an error, a redirect, no HTML or kept out of the index is left out.
-- meaning: Pages that visitors and crawlers know are found more slowly without a sitemap.
-- advice: List them, if they are to be indexed.
-- source: https://www.screamingfrog.co.uk/guides/sitemaps/
SELECT loc AS url, '' AS detail, NULL AS document
FROM known
WHERE key NOT IN (SELECT key FROM url)
  AND key NOT IN (SELECT key FROM crawled WHERE NOT is_indexable)
