-- title: Not compressed, in spite of its name
-- severity: warning
-- unit: sitemaps
-- detects: The name of the sitemap ends with .gz, its bytes are no gzip, and no Content-Encoding
--   says that they were unpacked on the way.
-- meaning: Readers that go by the name cannot unpack it, and lose all its URLs.
-- advice: Compress the file, or name it .xml.
-- source: https://www.sitemaps.org/protocol.html
SELECT url, format AS detail, id AS document
FROM document
WHERE role = 'sitemap' AND status IN ('complete', 'partial')
  AND lower(path_of(url)) LIKE '%.gz' AND bytes_raw = bytes_inflated AND content_encoding IS NULL
