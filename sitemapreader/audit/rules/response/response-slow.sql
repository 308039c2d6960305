-- title: Slow responses
-- severity: warning
-- unit: sitemaps
-- needs: fetch
-- detects: The response began later than `slow_first_byte_seconds`, or took longer than
--   `slow_seconds` in all.
-- meaning: Search engines give up, and send fewer requests.
-- advice: Write sitemaps to files, or cache them.
-- source: https://support.google.com/webmasters/answer/7451001
-- search-console: Couldn't fetch
SELECT url, format('first byte after {:.1f} s, all after {:.1f} s', first_byte_seconds,
                   wait_seconds) AS detail, id AS document
FROM document
WHERE is_http AND role = 'sitemap'
  AND (first_byte_seconds > $slow_first_byte_seconds OR wait_seconds > $slow_seconds)
