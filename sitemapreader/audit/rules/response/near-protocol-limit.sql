-- title: Close to the limit
-- severity: info
-- unit: sitemaps
-- detects: Over `near_urls` URLs or `near_bytes` inflated, and not over the protocol's limits.
-- meaning: The next pages may not fit, and what comes after the limit is ignored.
-- advice: Split it before it overflows.
-- source: https://www.sitemaps.org/protocol.html
SELECT url, listed || ' URLs, ' || format('{:.1f} MiB', bytes_inflated / 1048576) AS detail,
       id AS document
FROM document
WHERE role = 'sitemap' AND format <> 'sitemapindex'
  AND (listed > $near_urls OR bytes_inflated > $near_bytes)
  AND listed <= 50000 AND bytes_inflated <= 52428800
