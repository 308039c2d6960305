-- title: Both www and the bare host
-- severity: error
-- unit: hosts
-- detects: Two hosts that differ only in `www.` have listed URLs.
-- meaning: One of them redirects, and search engines must guess the canonical host.
-- advice: List only the canonical host.
-- source: https://support.google.com/webmasters/answer/7451001
SELECT w.scheme || '://' || w.host || '/' AS url,
       'www: ' || count_units(w.urls, 'URLs') || '; bare: ' || b.urls AS detail, NULL AS document
FROM (SELECT max(scheme) AS scheme, host, sum(urls) AS urls FROM host GROUP BY host) w
JOIN (SELECT host, sum(urls) AS urls FROM host GROUP BY host) b ON w.host = 'www.' || b.host
