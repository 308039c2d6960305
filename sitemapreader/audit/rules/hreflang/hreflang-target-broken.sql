-- title: Alternates that are broken
-- severity: error
-- unit: links
-- needs: hreflang, pages
-- detects: The sitemap or the visited page of A names B, and B was visited: it is missing or fails, or
--   is an error page or empty.
-- meaning: There is no page in that language, and search engines ignore the link.
-- advice: Correct the link, or remove it.
-- source: https://developers.google.com/search/docs/specialty/international/localized-versions
FROM alternate_hit WHERE code = 'hreflang-target-broken'
