-- title: Language versions that do not link back
-- severity: error
-- unit: links
-- detects: A lists B, B is listed and has links of its own, and none to A.
-- meaning: If B does not link back to A, search engines ignore the pair.
-- advice: Give all versions of a page the same set of links.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
-- search-console: no return tags
SELECT page.loc AS url, 'no link back from ' || target.loc AS detail, page.document
FROM (
    SELECT arg_min(l.url, l.place) AS url, l.target
    FROM hreflang_link l
    WHERE l.page <> l.target
      AND EXISTS (SELECT 1 FROM hreflang_link b WHERE b.page = l.target)
      AND NOT EXISTS (
          SELECT 1 FROM hreflang_link b WHERE b.page = l.target AND b.target = l.page
      )
    GROUP BY l.page, l.target
) l
JOIN url_row page ON page.id = l.url
JOIN (
    SELECT l.page, any_value(u.loc) AS loc
    FROM (SELECT page, arg_min(url, place) AS url FROM hreflang_link GROUP BY page) l
    JOIN url_row u ON u.id = l.url GROUP BY l.page
) target ON target.page = l.target
