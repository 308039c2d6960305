-- title: Alternate is in no sitemap
-- severity: warning
-- unit: links
-- needs: hreflang, complete
-- detects: The sitemap or the visited page of A names B, and no sitemap lists B, though other URLs
--   of its host are listed. B is left out if its page was visited and is broken or not indexed, which
--   is `hreflang-target-broken` or `hreflang-target-not-indexed`.
-- meaning: The sitemaps cannot show its link back, and often the URL is wrong.
-- advice: List each version with all its alternates, or correct the link.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
WITH named AS (
    SELECT a.url, a.key, a.href, '' AS file, NULL AS file_line
    FROM alternate a WHERE a.hreflang IS NOT NULL AND a.file IS NULL
    UNION ALL
    SELECT p.url, a.key, a.key AS href, p.file, a.line AS file_line
    FROM page p JOIN page_alternate a ON a.page = p.key
    WHERE p.is_indexed AND a.key <> p.final_key
)
SELECT page.loc AS url, min(n.href) AS detail, page.document, nullif(min(n.file), '') AS file,
       min(n.file_line) AS file_line
FROM named n JOIN url_row page ON page.id = n.url
WHERE host_of(n.key) IN (SELECT host FROM host)
  AND n.key NOT IN (SELECT key FROM url WHERE key IN (SELECT key FROM named))
  AND bare_page(n.key) NOT IN (
      SELECT bare_page(key) FROM page
      WHERE NOT is_listed AND (is_hidden OR refresh_url IS NOT NULL OR canonical_key <> final_key)
  )
  AND n.key NOT IN (SELECT key FROM target WHERE why IS NOT NULL)
GROUP BY page.id, page.loc, page.document, n.key
