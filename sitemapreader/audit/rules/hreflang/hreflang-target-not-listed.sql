-- title: Alternate is in no sitemap
-- severity: warning
-- unit: links
-- needs: hreflang, complete
-- detects: The sitemap of A names B, B is in no sitemap, and other URLs of its host are.
-- meaning: Its link back cannot be seen in the sitemaps; often the URL is wrong.
-- advice: List each version with all its alternates.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
SELECT page.loc AS url, a.href AS detail, a.document
FROM alternate a JOIN url_row page ON page.id = a.url
WHERE a.hreflang IS NOT NULL AND a.file IS NULL
  AND host_of(a.key) IN (SELECT host FROM host)
  AND a.key NOT IN (SELECT key FROM url WHERE key IN (SELECT key FROM alternate))
