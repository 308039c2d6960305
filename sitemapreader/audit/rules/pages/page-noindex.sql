-- title: Listed pages that forbid indexing
-- severity: error
-- unit: pages
-- needs: pages
-- detects: The head or X-Robots-Tag has noindex, none or a past unavailable_after, for all robots
--   or for an audited one.
-- meaning: The sitemap invites search engines to index a page that forbids it.
-- advice: Remove the page from the sitemap, or remove the directive.
-- source: https://developers.google.com/search/docs/crawling-indexing/robots-meta-tag
-- search-console: Excluded by 'noindex' tag
SELECT loc AS url, coalesce(noindex, '') AS detail, document, nullif(file, '') AS file, noindex_line AS file_line FROM page
WHERE not_judged IS NULL AND is_listed AND fault IS NULL AND is_noindex
