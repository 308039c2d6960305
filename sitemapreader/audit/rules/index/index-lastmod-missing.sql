-- title: The index gives no dates
-- severity: info
-- unit: indexes
-- detects: An index has two or more children, and none has a lastmod.
-- meaning: A crawler cannot tell which child has changed, and fetches all of them or none.
-- advice: Give each child the date on which it was last written.
-- source: https://www.sitemaps.org/protocol.html
SELECT i.url, count_units(count(*), 'children') || ', none is dated' AS detail, i.id AS document
FROM document i JOIN document child ON child.parent_id = i.id AND child.via = 'index'
WHERE i.format = 'sitemapindex'
GROUP BY i.id, i.url
HAVING count(*) >= 2 AND count(child.lastmod) = 0
