-- title: Close to the limit
-- severity: info
-- unit: sitemaps
-- detects: The sitemap has over `near_urls` URLs or over `near_bytes` after decompression, but does
--   not exceed the protocol's limits.
-- meaning: The next pages may not fit, and search engines ignore everything after the limit.
-- advice: Split the sitemap before it exceeds the limit.
-- source: https://www.sitemaps.org/protocol.html
SELECT url, count_units(listed, 'URLs') || ', ' || format('{:.1f} MiB', bytes_inflated / 1048576) AS detail,
       id AS document
FROM document
WHERE role = 'sitemap' AND format <> 'sitemapindex'
  AND (listed > $near_urls OR bytes_inflated > $near_bytes)
  AND listed <= 50000 AND bytes_inflated <= 52428800
