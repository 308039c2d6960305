-- title: No listed URL is below the URL of the folder
-- severity: error
-- unit: folders
-- needs: folder
-- detects: All URLs that the sitemaps of a built folder list, or the sitemaps that its robots.txt or
--   an index names, have another scheme, host, port or path than the URL of the folder. Left out are
--   hosts that `host-not-public` calls an error.
-- meaning: The pages of the folder are at other URLs than the listed ones, so none was judged. The
--   build has another address than the audit.
-- advice: If the sitemaps are right, pass the URL that they have as `base_url`. Else correct the
--   address in the settings of the generator.
-- source: https://www.sitemaps.org/protocol.html#location
SELECT base_url AS url,
       CASE WHEN listed THEN 'none of ' || count_units(listed, 'listed URLs') || ' is below this URL'
            ELSE 'the sitemaps that robots.txt or an index names are not below this URL' END
           || ': the folder fits ' || fitting_url AS detail,
       NULL AS document
FROM built, (SELECT count(DISTINCT key) AS listed FROM url) WHERE fitting_url <> ''
  AND NOT EXISTS (FROM host WHERE hidden <> '' AND NOT is_staging)
