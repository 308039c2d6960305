-- title: Listed pages that keep themselves out of the index
-- severity: error
-- unit: pages
-- needs: pages
-- detects: noindex, none or a passed unavailable_after, for all robots or an audited one, in the head or
--   in X-Robots-Tag.
-- meaning: The sitemap asks for what the page forbids.
-- advice: Take the page out of the sitemap, or remove the directive.
-- source: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
-- search-console: Excluded by 'noindex' tag
SELECT loc AS url, '' AS detail, document, nullif(file, '') AS file, noindex_line AS file_line FROM page
WHERE not_judged IS NULL AND is_listed AND fault IS NULL AND is_noindex
