-- title: Old URLs that cannot lead where they are to lead
-- severity: error
-- unit: old URLs
-- needs: was
-- detects: The list of old URLs has two different pages for one old URL in its column `new`, or a page
--   that fails, redirects, forbids indexing or names another page as canonical.
-- meaning: A redirect that follows the list leads to the wrong page, or to none.
-- advice: Name one page that returns 200 for each old URL.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT o.loc AS url, NULL AS document, CASE WHEN t.new_key <> t.other_key
       THEN 'to ' || t.new || ' and to ' || t.other ELSE t.new || ' ' || n.why END AS detail
FROM old_target t JOIN old o USING (key) LEFT JOIN target n ON n.key = t.new_key
WHERE t.new_key <> t.other_key OR n.why IS NOT NULL
