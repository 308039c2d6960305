-- title: Unreachable hosts
-- severity: error
-- unit: URLs
-- detects: localhost, a literal address, a name under .local, .test, .internal and the like, what
--   is no host; a warning where the first label is staging, stage, dev, test, uat or preprod. The
--   host of the sitemap itself is left out: it was reached. The same of a sitemap that an index or
--   robots.txt lists, and `undefined/...` in the place of a host.
-- meaning: Such URLs cannot be visited, or are not meant to be found.
-- advice: Publish the production sitemap, and correct what is no host.
-- source: https://support.google.com/webmasters/answer/7451001
SELECT u.loc AS url, h.hidden AS detail, u.document,
       CASE WHEN h.is_staging THEN 'warning' ELSE 'error' END AS severity
FROM host h JOIN document d ON d.id = h.document
JOIN url u ON u.document = h.document AND u.host = h.host AND u.scheme = h.scheme
WHERE h.hidden <> '' AND h.host <> host_of(d.final_key)
