-- What rules need, what they looked at, and what they hit. A line `-- name:` begins a query.

-- lost: sitemaps that were not read, or not to their end
SELECT count(*) FROM document
WHERE role = 'sitemap' AND (status IN ('failed', 'partial') OR (status = 'skipped' AND is_excused))

-- unread_robots:
SELECT reason, http_status FROM document WHERE role = 'robots' LIMIT 1

-- overlap:
SELECT count(*), count(*) FILTER (key IN (SELECT key FROM known)) FROM url

-- looked_at: for the unit of a rule, how many of these there are (a row each: see `totals`)
SELECT 'URLs', count(*) FROM url_row
UNION ALL
SELECT 'sitemaps', count(*) FROM document WHERE role = 'sitemap' AND final_url <> ''
UNION ALL
SELECT 'indexes', count(*) FROM document WHERE format = 'sitemapindex'
UNION ALL
SELECT 'images', count(*) FROM image
UNION ALL
SELECT 'videos', count(*) FROM video
UNION ALL
SELECT 'links', count(*) FROM alternate WHERE hreflang IS NOT NULL
UNION ALL
SELECT 'pages', count(*) FROM page WHERE is_listed AND not_judged IS NULL
UNION ALL
SELECT 'old URLs', count(*) FROM page WHERE is_old AND not_judged IS NULL
UNION ALL
SELECT 'known URLs', count(*) FROM known

-- has_sitemaps:
SELECT count(*) > 0 FROM document
WHERE role = 'sitemap' AND status IN ('complete', 'partial', 'unchanged')

-- count_hits: {} is the query of a rule
SELECT hit.document, count(*),
       min({{'url': hit.url, 'detail': hit.detail::VARCHAR}}, $examples_shown)
FROM ({}) AS hit GROUP BY hit.document

-- list_hits: {} is the query of a rule
SELECT $rule_code AS code, hit.url, hit.detail, document.url AS document
FROM ({}) AS hit LEFT JOIN document ON document.id = hit.document

-- count_issues: an empty sitemap counts below an index, and never for news
SELECT issue_count.code, coalesce(document.url, ''), sum(issue_count.count)::BIGINT,
       any_value(issue_count.document), coalesce(bool_or(document.is_excused), false)
FROM issue_count LEFT JOIN document ON document.id = issue_count.document
WHERE issue_count.code <> 'empty'
   OR (document.via = 'index' AND document.news = 0 AND NOT contains(lower(document.url), 'news'))
GROUP BY issue_count.code, document.url
ORDER BY issue_count.code, sum(issue_count.count) DESC, document.url

-- issue_examples:
SELECT coalesce(issue.url, ''), coalesce(issue.value, ''), coalesce(document.url, ''), issue.line
FROM issue LEFT JOIN document ON document.id = issue.document
WHERE issue.code = $code
ORDER BY document.url, issue.line, issue.url, issue.value
LIMIT $limit

-- issue_lines: the first of each document
SELECT document.url, min(issue.line) FROM issue JOIN document ON document.id = issue.document
WHERE issue.code = $code GROUP BY document.url

-- list_issues: as `list_hits` does
SELECT $rule_code AS code, coalesce(issue.url, '') AS url, coalesce(issue.value, '') AS detail,
       document.url AS document
FROM issue LEFT JOIN document ON document.id = issue.document
WHERE issue.code = $rule_code

-- gather_hits: what a baseline holds of a rule, {} is its query
SELECT coalesce(hit.document, ''), count(*), min(left(md5(coalesce(hit.url, '')), 16), $most)
FROM ({}) AS hit GROUP BY coalesce(hit.document, '')

-- compare_hits: with those of the baseline, {} is the query
SELECT coalesce(hit.document, ''), count(*), count(*) FILTER (baseline.code IS NULL)
FROM ({}) AS hit LEFT JOIN baseline
  ON baseline.code = $rule_code AND baseline.document = coalesce(hit.document, '')
 AND baseline.fingerprint = left(md5(coalesce(hit.url, '')), 16)
GROUP BY coalesce(hit.document, '')
