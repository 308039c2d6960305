-- title: Content-Type does not fit
-- severity: warning
-- unit: sitemaps
-- needs: fetch
-- detects: XML is served neither as */xml nor as *+xml, text not as text/plain, or a gzip file not
--   as gzip, octet-stream or xml; or there is no Content-Type at all.
-- meaning: Readers that trust the header mistake the sitemap for something else; browsers show it as
--   a page.
-- advice: Serve application/xml, text/plain or application/gzip.
-- source: https://www.rfc-editor.org/rfc/rfc9110
SELECT url, coalesce(content_type, 'no Content-Type') AS detail, id AS document
FROM (
    SELECT *, lower(trim(split_part(coalesce(content_type, ''), ';', 1))) AS type,
           bytes_raw <> bytes_inflated AND content_encoding IS NULL AS is_gzip_file
    FROM document
    WHERE is_http AND role = 'sitemap' AND status IN ('complete', 'partial')
)
WHERE CASE
    WHEN is_gzip_file THEN NOT regexp_full_match(type, '.*/(x-)?gzip|.*/octet-stream|.*[/+]xml')
    WHEN format IN ('urlset', 'sitemapindex', 'rss', 'atom')
        THEN NOT regexp_full_match(type, '.*[/+]xml')
    WHEN format = 'text' THEN type <> 'text/plain'
    ELSE false
END
