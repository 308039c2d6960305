-- title: Old URLs that lead to another page than planned
-- severity: warning
-- unit: old URLs
-- needs: was
-- detects: The list of old URLs has a column `new`, and an old URL leads to another page than the
--   one in that column.
-- meaning: Visitors come to a page that was not meant for them.
-- advice: Redirect each URL to the page of the list, or correct the list.
-- source: https://developers.google.com/search/docs/crawling-indexing/site-move-with-url-changes
SELECT loc AS url, NULL AS document,
       'to ' || CASE WHEN refresh_seconds <= 5 THEN refresh_url ELSE final_url END || ', not ' || t.new AS detail
FROM page JOIN old_target t ON t.key = page.key
WHERE is_old AND not_judged IS NULL AND coalesce(fate, '') NOT IN ('was-lost', 'was-error', 'was-alive')
  AND CASE WHEN refresh_seconds <= 5 THEN refresh_key ELSE final_key END NOT IN (t.new_key, t.other_key)
