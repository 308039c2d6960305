-- title: URLs of another host
-- severity: warning
-- unit: URLs
-- cause: base-url-elsewhere, host-not-public
-- detects: The host of the URL is not the sitemap's (with or without www.), and its own
--   robots.txt does not name the sitemap.
-- meaning: Search engines ignore such URLs without a proof of ownership.
-- advice: List them in a sitemap of their host, or name this sitemap in the robots.txt of their
--   host.
-- source: https://www.sitemaps.org/protocol.html
-- search-console: URL not allowed
SELECT u.loc AS url, u.host AS detail, u.document
FROM host h JOIN document d ON d.id = h.document
JOIN url u ON u.document = h.document AND u.host = h.host AND u.scheme = h.scheme
WHERE h.host <> host_of(d.key) AND h.host <> host_of(d.final_key)
  AND bare_host(h.host) <> bare_host(host_of(d.final_key))
  AND NOT EXISTS (
      SELECT 1 FROM cross_submit c WHERE c.host = h.host AND c.document = h.document
  )
