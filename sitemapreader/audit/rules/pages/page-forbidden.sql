-- title: Listed pages that refuse us
-- severity: info
-- unit: pages
-- needs: pages
-- detects: The page answers 403, 451 or another 4xx, no protection is named, and half of the pages of
--   its host answer.
-- meaning: Other crawlers may be admitted, or not.
-- advice: Ask for the page as a crawler, from its addresses.
-- source: https://sitebulb.com/hints/xml-sitemaps/
-- search-console: Blocked due to access forbidden (403)
SELECT loc AS url, trim(statuses || ' ' || status) AS detail, document
FROM page WHERE fault = 'page-forbidden'
