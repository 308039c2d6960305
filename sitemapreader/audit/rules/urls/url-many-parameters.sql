-- title: Filters and searches
-- severity: info
-- unit: URLs
-- cause: url-tracking-parameter, url-session-id
-- detects: The URL has at least `many_parameters` parameters, or one of `search_parameters`.
-- meaning: Such pages are views of other pages, in endless variations.
-- advice: List the canonical category.
-- source: https://developers.google.com/search/docs/crawling-indexing/sitemaps/build-sitemap
SELECT loc AS url, '' AS detail, document
FROM unusual_url
WHERE query <> '' AND (regexp_matches(query, $searching)
      OR length(query) - length(replace(query, '&', '')) + 1 >= $many_parameters)
