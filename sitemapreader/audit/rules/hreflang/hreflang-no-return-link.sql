-- title: Language versions that do not link back
-- severity: error
-- unit: links
-- needs: hreflang
-- detects: A names B, B is listed, and B, which is the hit, has no link to A: neither in its
--   sitemap nor, where the sitemap names no versions and the page was visited, on its page. B is
--   left out if it is not listed or was not read, or if only the page of A names it and B was not
--   visited.
-- meaning: If B does not link back to A, search engines ignore the pair.
-- advice: Add the link to this page, or give all versions of a page the same set of links.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
-- search-console: no return tags
SELECT target.loc AS url, 'no link back to ' || page.loc AS detail, target.document,
       CASE WHEN l.is_of_page THEN nullif(target.file, '') END AS file,
       CASE WHEN l.is_of_page THEN target.file_line END AS file_line
FROM (
    SELECT arg_min(l.url, l.place) AS url, l.target, count(*) = count(l.file) AS is_of_page
    FROM hreflang_link l
    WHERE l.page <> l.target
      AND NOT EXISTS (
          SELECT 1 FROM hreflang_link b WHERE b.page = l.target AND b.target = l.page
      )
    GROUP BY l.page, l.target
    HAVING NOT is_of_page OR l.target IN (SELECT hash(key) FROM page WHERE is_indexed)
) l
JOIN url_row page ON page.id = l.url
JOIN (
    SELECT hash(u.key) AS page, arg_min(u.loc, place_of(d.rank, u.id)) AS loc,
           arg_min(u.document, place_of(d.rank, u.id)) AS document,
           min(p.file) AS file, min(p.alternate_line) AS file_line
    FROM url u LEFT JOIN document d ON d.id = u.document LEFT JOIN page p ON p.key = u.key
    WHERE u.key IN (SELECT key FROM alternate) GROUP BY ALL
) target ON target.page = l.target
