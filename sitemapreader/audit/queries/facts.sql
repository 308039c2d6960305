-- The numbers of a report. A line `-- name:` begins a query.

-- totals: a row each, as DuckDB takes 20 ms to plan one row of so many subqueries
SELECT 'urls', count(*) FROM url_row
UNION ALL
SELECT 'distinct', (SELECT count(*) FROM url_row) - count(*) + count(DISTINCT key) FROM repeated
UNION ALL
SELECT 'dated', count(lastmod) FROM url_row
UNION ALL
SELECT 'images', count(*) FROM image
UNION ALL
SELECT 'videos', count(*) FROM video
UNION ALL
SELECT 'news', count(*) FROM news
UNION ALL
SELECT 'alternates', count(hreflang) FROM alternate
UNION ALL
SELECT 'documents_total', count(*) FROM document
UNION ALL
SELECT 'sitemaps', count(*) FROM document
WHERE role = 'sitemap' AND status IN ('complete', 'partial', 'unchanged')
UNION ALL
SELECT 'sitemaps_not_read', count(*) FROM document
WHERE role = 'sitemap' AND via <> 'well-known'
  AND (status IN ('failed', 'partial') OR (status = 'skipped' AND is_excused))

-- statuses:
SELECT status, count(*) FROM document GROUP BY status ORDER BY status

-- months:
SELECT date_trunc('month', lastmod)::DATE AS month, count(*),
       count(*) FILTER (document IN (SELECT unnest($alike::UINTEGER[]))),
       count(*) FILTER (lastmod > $now + to_hours($future_hours))
FROM url_row WHERE lastmod IS NOT NULL GROUP BY month ORDER BY month

-- sections:
SELECT host_of(prefix) AS host, path_of(prefix) AS path, sum(urls)::UBIGINT AS urls
FROM folder GROUP BY host, path ORDER BY urls DESC, host, path LIMIT $limit

-- names: words with which many names in one folder begin, with the mark behind them
SELECT regexp_extract(substr(path_of(key), 1 + length($path)), '^\pL+[-_.]?') AS word,
       count(*)::UBIGINT AS urls
FROM url WHERE host_of(key) = $host AND path_of(folder_of(key)) = $path
GROUP BY word HAVING word <> '' AND urls >= $least ORDER BY urls DESC, word LIMIT $limit

-- hosts:
SELECT scheme || '://' || host AS origin, sum(urls)::UBIGINT AS urls
FROM host GROUP BY origin ORDER BY urls DESC, origin LIMIT $limit

-- languages:
WITH own AS (
    SELECT url, min(hreflang) AS page_language FROM hreflang_link
    WHERE page = target AND hreflang <> 'x-default' GROUP BY url
), counted AS (
    SELECT page_language, count(*) AS pages FROM own GROUP BY page_language
), pairs AS (
    SELECT DISTINCT page, target FROM hreflang_link
)
SELECT own.page_language, l.hreflang, any_value(counted.pages), count(DISTINCT l.url),
       count(DISTINCT l.url) FILTER (back.page IS NOT NULL)
FROM own JOIN hreflang_link l ON l.url = own.url
JOIN counted ON counted.page_language = own.page_language
LEFT JOIN pairs back ON back.page = l.target AND back.target = l.page
GROUP BY own.page_language, l.hreflang
ORDER BY any_value(counted.pages) DESC, own.page_language, count(DISTINCT l.url) DESC, l.hreflang

-- documents: what was not read stands above its neighbours
SELECT d.id, d.url, coalesce(p.url, d.parent), d.role, coalesce(d.format, ''), d.status, d.reason,
       d.http_status, d.listed, d.children, d.bytes_raw, d.bytes_inflated, d.dated, d.newest,
       d.lastmod
FROM document d LEFT JOIN document p ON p.id = d.parent_id AND p.id <> d.id
ORDER BY d.status NOT IN ('complete', 'unchanged') DESC, d.children > 0 DESC, d.role, d.listed DESC, d.url
LIMIT $limit
