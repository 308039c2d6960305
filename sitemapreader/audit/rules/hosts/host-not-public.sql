-- title: Hosts that are not public
-- severity: error
-- unit: URLs
-- cause: base-url-elsewhere
-- detects: The host is localhost, an IP address, a name under .local, .test, .internal or a similar
--   domain, or not a host at all. A warning where the first label is staging, stage, dev, test, uat
--   or preprod. The host of the sitemap itself is left out, because it was reached, but not the one
--   that the site is requested from (`map_hosts`). The rule also applies to sitemaps that an index
--   or robots.txt lists, and to `undefined/...` instead of a host.
-- meaning: Search engines cannot visit such URLs, or are not meant to find them.
-- advice: Publish the sitemap of production, and correct invalid hosts.
-- source: https://support.google.com/webmasters/answer/7451001
SELECT u.loc AS url, coalesce('stands in for ' || s.host, h.hidden) AS detail, u.document,
       CASE WHEN h.is_staging AND s.host IS NULL THEN 'warning' ELSE 'error' END AS severity
FROM host h JOIN document d ON d.id = h.document
JOIN url u ON u.document = h.document AND u.host = h.host AND u.scheme = h.scheme
LEFT JOIN stand_in s ON s.target = h.host
WHERE s.host IS NOT NULL OR h.hidden <> '' AND h.host <> host_of(d.final_key)
