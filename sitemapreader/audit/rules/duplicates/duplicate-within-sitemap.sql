-- title: URL listed twice in a sitemap
-- severity: warning
-- unit: URLs
-- detects: A document lists the same URL, in any spelling, more than once.
-- meaning: The copies take room, and may contradict each other.
-- advice: Write each URL once.
-- source: https://www.screamingfrog.co.uk/guides/sitemaps/
SELECT min(loc) AS url, count(*) || ' times' AS detail, document
FROM repeated
GROUP BY key, document
HAVING count(*) > 1
