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
SELECT 'alternates', count(hreflang) FROM alternate WHERE file IS NULL
UNION ALL
SELECT 'documents_total', count(*) FROM document
UNION ALL
SELECT 'sitemaps', count(*) FROM document
WHERE role = 'sitemap' AND status IN ('complete', 'partial', 'unchanged')
UNION ALL
SELECT 'sitemaps_not_read', count(*) FROM document
WHERE role = 'sitemap' AND via <> 'well-known'
  AND (status = 'failed' OR (status = 'skipped' AND is_excused))
UNION ALL
SELECT 'sitemaps_in_part', count(*) FROM document
WHERE role = 'sitemap' AND via <> 'well-known' AND status = 'partial'

-- statuses:
SELECT status, count(*) FROM document GROUP BY status ORDER BY status

-- months: of lastmod; alike are those in sitemaps with dates that say nothing
SELECT date_trunc('month', lastmod)::DATE AS month, count(*) AS urls,
       count(*) FILTER (document IN (
           SELECT document FROM place WHERE code IN ('lastmod-all-equal', 'lastmod-is-build-time')
       )) AS alike,
       count(*) FILTER (lastmod > $now + to_hours($future_hours)) AS future
FROM url_row WHERE lastmod IS NOT NULL GROUP BY month ORDER BY month

-- sections: folders of at most two levels, without their subfolders
SELECT host_of(prefix) AS host, coalesce(nullif(path_of(prefix), ''), '/') AS path,
       sum(urls)::UBIGINT AS urls
FROM folder GROUP BY ALL ORDER BY urls DESC, host, path LIMIT 500

-- hosts:
SELECT scheme || '://' || host AS origin, sum(urls)::UBIGINT AS urls
FROM host GROUP BY origin ORDER BY urls DESC, origin LIMIT 500

-- languages: links from pages of one language to another, those of the largest languages
WITH own AS (
    SELECT url, min(hreflang) AS page FROM hreflang_link
    WHERE page = target AND hreflang <> 'x-default' GROUP BY url
), counted AS (
    SELECT page, count(*) AS pages, row_number() OVER (ORDER BY pages DESC, page) AS rank
    FROM own GROUP BY page
), pairs AS (
    SELECT DISTINCT page, target FROM hreflang_link
), code AS (
    SELECT hreflang, min(written) AS written FROM alternate WHERE hreflang IS NOT NULL GROUP BY hreflang
)
SELECT min(p.written) AS page, min(w.written) AS target, any_value(c.pages) AS pages, count(DISTINCT l.url) AS links,
       count(DISTINCT l.url) FILTER (back.page IS NOT NULL) AS returned
FROM own JOIN hreflang_link l ON l.url = own.url
JOIN counted c ON c.page = own.page LEFT JOIN counted t ON t.page = l.hreflang
LEFT JOIN pairs back ON back.page = l.target AND back.target = l.page
JOIN code p ON p.hreflang = own.page JOIN code w ON w.hreflang = l.hreflang
WHERE c.rank <= 24 AND (t.rank <= 24 OR t.rank IS NULL)
GROUP BY own.page, l.hreflang
ORDER BY pages DESC, own.page, links DESC, l.hreflang

-- languages_others:
SELECT greatest(0, count(DISTINCT hreflang) FILTER (hreflang <> 'x-default') - $shown) FROM hreflang_link

-- documents: what was not read stands above its neighbours
SELECT d.id, d.url, coalesce(p.url, d.parent) AS parent, d.role, coalesce(d.format, '') AS format,
       d.status, d.reason, d.http_status, d.listed AS urls, d.children, d.bytes_raw, d.bytes_inflated,
       d.dated, d.newest, d.lastmod, coalesce(hits, 0) AS findings
FROM document d LEFT JOIN document p ON p.id = d.parent_id AND p.id <> d.id
LEFT JOIN (SELECT document, sum(count)::BIGINT AS hits FROM place GROUP BY document) h ON h.document = d.id
ORDER BY d.status NOT IN ('complete', 'unchanged') DESC, d.children > 0 DESC, d.role, d.listed DESC, d.url
LIMIT 10000
