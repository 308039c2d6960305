-- title: No listed URL is below the URL of the folder or site
-- severity: error
-- unit: folders or sites
-- needs: base
-- detects: All URLs that the sitemaps of a built folder list, or the sitemaps that its robots.txt or
--   an index names, have another scheme, host, port or path than the URL of the folder. Left out are
--   hosts that `host-not-public` calls an error. Or the site is requested from another host
--   (`map_hosts`), and no listed URL is on the host of the site.
-- meaning: The pages of the folder are at other URLs than the listed ones, so none was judged. The
--   build has another address than the audit. A site that lists the URLs of its staging host will
--   list them in production, too.
-- advice: If the sitemaps are right, pass the URL that they have as `base_url`. Else correct the
--   address in the settings of the generator.
-- source: https://www.sitemaps.org/protocol.html#location
WITH found AS (SELECT count(DISTINCT key) AS listed FROM url)
SELECT base_url AS url,
       CASE WHEN listed THEN 'none of ' || count_units(listed, 'listed URLs') || ' is below this URL'
            ELSE 'the sitemaps that robots.txt or an index names are not below this URL' END
           || ': the folder fits ' || fitting_url AS detail,
       NULL AS document
FROM built, found WHERE fitting_url <> ''
  AND NOT EXISTS (FROM host WHERE hidden <> '' AND NOT is_staging)
UNION ALL
SELECT url, 'none of ' || count_units(listed, 'listed URLs') || ' is on ' || host, NULL
FROM stand_in s, found WHERE listed > 0 AND NOT EXISTS (FROM host WHERE host.host = s.host)
