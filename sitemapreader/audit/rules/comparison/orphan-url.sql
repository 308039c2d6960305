-- title: Listed URLs that the list of known URLs does not have
-- severity: warning
-- unit: URLs
-- needs: urls, overlap
-- cause: page-missing, page-not-found, page-gone, page-login, page-noindex,
--   page-canonical-broken, page-canonical-elsewhere, page-canonical-leads-on,
--   page-canonical-offsite, page-canonical-variant, page-redirects, page-soft-404, page-empty, host-not-public, host-other,
--   scheme-http, variant-www, variant-scheme, variant-parameters, variant-trailing-slash,
--   variant-case, variant-index, url-tracking-parameter, url-session-id, robots-blocked-url
-- detects: A URL in the sitemaps is not among the known URLs, in any spelling. Does not run where
--   less than `least_overlap` of the URLs are known.
-- meaning: Pages without links are rarely worth a visit.
-- advice: Link to these pages, or remove them from the sitemap.
-- source: https://www.screamingfrog.co.uk/guides/sitemaps/
SELECT min(u.loc) AS url, '' AS detail,
       arg_min(u.document, place_of(d.rank, u.id)) AS document
FROM url u LEFT JOIN document d ON d.id = u.document
WHERE u.key NOT IN (SELECT key FROM known)
GROUP BY u.key
