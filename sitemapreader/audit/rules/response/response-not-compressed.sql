-- title: Large sitemaps served uncompressed
-- severity: info
-- unit: sitemaps
-- needs: fetch
-- detects: Neither the file nor the response is compressed, and it takes over `large_bytes` on the
--   wire.
-- meaning: Crawlers fetch sitemaps often; gzip makes them about ten times smaller.
-- advice: Serve .xml.gz, or gzip as Content-Encoding.
-- source: https://blogs.bing.com/webmaster/february-2023/The-Importance-of-Setting-the-lastmod-Tag-in-Your-Sitemap
SELECT url, format('{:.1f} MiB', bytes_raw / 1048576) AS detail, id AS document
FROM document
WHERE is_http AND role = 'sitemap' AND bytes_raw > $large_bytes AND bytes_raw = bytes_inflated
