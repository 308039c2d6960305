-- title: Language versions that do not link back
-- severity: error
-- unit: links
-- detects: A lists B, B is listed, and has no link to A. A version that is not listed, or was not
--   read, is left out.
-- meaning: If B does not link back to A, search engines ignore the pair.
-- advice: Give all versions of a page the same set of links.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
-- search-console: no return tags
SELECT page.loc AS url, 'no link back from ' || target.loc AS detail, page.document
FROM (
    SELECT arg_min(l.url, l.place) AS url, l.target
    FROM hreflang_link l
    WHERE l.page <> l.target
      AND NOT EXISTS (
          SELECT 1 FROM hreflang_link b WHERE b.page = l.target AND b.target = l.page
      )
    GROUP BY l.page, l.target
) l
JOIN url_row page ON page.id = l.url
JOIN (
    SELECT hash(u.key) AS page, arg_min(u.loc, place_of(d.rank, u.id)) AS loc
    FROM url u LEFT JOIN document d ON d.id = u.document
    WHERE u.key IN (SELECT key FROM alternate) GROUP BY ALL
) target ON target.page = l.target
