-- title: robots.txt names no sitemap
-- severity: warning
-- unit: files
-- needs: robots, site
-- detects: robots.txt has no Sitemap line, but sitemaps were found in another way.
-- meaning: Every search engine looks there; not all of them try the usual paths.
-- advice: Add `Sitemap: <absolute URL>` to robots.txt.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT d.url, 'found in another way: ' || s.url AS detail, d.id AS document
FROM robots JOIN document d ON d.id = robots.document
CROSS JOIN (
    SELECT min(url) AS url FROM document
    WHERE role = 'sitemap' AND via IN ('well-known', 'html', 'header')
      AND status IN ('complete', 'partial', 'unchanged')
) s
WHERE robots.is_searched AND robots.sitemaps = 0 AND s.url IS NOT NULL
