-- title: The index dates all children alike
-- severity: warning
-- unit: indexes
-- detects: At least `least_children` children are dated, over `equal_share` of them with one value
--   that is within `build_minutes` of the index's Last-Modified or of its fetch.
-- meaning: The date is the time of a build, not of a change, so crawlers stop believing it.
-- advice: Write the date of each child's last change.
-- source: https://blogs.bing.com/webmaster/february-2023/The-Importance-of-Setting-the-lastmod-Tag-in-Your-Sitemap
SELECT i.url,
       c.common || ' of ' || c.dated || ' are ' || strftime(c.lastmod, '%Y-%m-%dT%H:%M:%SZ')
       AS detail, i.id AS document
FROM document i JOIN (
    SELECT parent_id, sum(n) AS dated, max(n) AS common, arg_max(lastmod, row(n, lastmod)) AS lastmod
    FROM (
        SELECT parent_id, lastmod, count(*) AS n FROM document
        WHERE via = 'index' AND lastmod IS NOT NULL GROUP BY parent_id, lastmod
    ) GROUP BY parent_id
) c ON c.parent_id = i.id
WHERE c.dated >= $least_children AND c.common > $equal_share * c.dated
  AND (abs(epoch(c.lastmod) - epoch(i.last_modified)) <= 60 * $build_minutes
       OR abs(epoch(c.lastmod) - epoch(i.fetched_at)) <= 60 * $build_minutes)
