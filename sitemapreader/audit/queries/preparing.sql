-- What rules need is computed from the rows of the walk. A line `-- name:` begins a query.

-- origins: those with most URLs and images
SELECT origin FROM (
    SELECT scheme || '://' || host AS origin FROM url
    UNION ALL
    SELECT regexp_extract(lower(loc), '^https?://[^/?#@]+') FROM image
) WHERE origin <> '' GROUP BY origin ORDER BY count(*) DESC, origin LIMIT $limit

-- count_urls:
UPDATE document SET urls = s.urls, dated = s.dated, newest = s.newest
FROM (
    SELECT document, count(*) AS urls, count(lastmod) AS dated,
           max(lastmod) FILTER (lastmod <= $now) AS newest
    FROM url_row GROUP BY document
) s WHERE s.document = document.id

-- rank_documents:
UPDATE document SET rank = r.rank
FROM (SELECT id, row_number() OVER (ORDER BY url, role) AS rank FROM document) r
WHERE r.id = document.id

-- find_common: the lastmod that most URLs of a document have
UPDATE document SET common_lastmod = c.most.lastmod, common_count = c.most.n
FROM (
    SELECT document, max({'n': n, 'lastmod': lastmod}) AS most
    FROM (
        SELECT document, lastmod, count(*) AS n FROM url_row
        WHERE lastmod IS NOT NULL GROUP BY document, lastmod
    ) GROUP BY document
) c WHERE c.document = document.id

-- count_news:
UPDATE document SET news = n.news
FROM (SELECT document, count(*) AS news FROM news GROUP BY document) n
WHERE n.document = document.id

-- fill_zeros:
UPDATE document SET urls = coalesce(urls, 0), dated = coalesce(dated, 0),
                    common_count = coalesce(common_count, 0), news = coalesce(news, 0)

-- define_extras: {} are patterns of parameters
CREATE OR REPLACE MACRO without_extras(query) AS
    CASE WHEN query = '' THEN ''
         ELSE ltrim(regexp_replace(regexp_replace(query, {}, '', 'g'), {}, '', 'g'), '&') END

-- find_repeated: URLs of which others differ in slash, www, case or parameters at most
CREATE TABLE repeated AS
WITH folds AS MATERIALIZED (
    SELECT id, hash(without_slash(bare_host(after_scheme(loc)))) AS folded
    FROM url_row WHERE is_simple
    UNION ALL
    SELECT id, hash(bare_host(host) || lower(without_slash(path)) || without_extras(query))
    FROM (SELECT id, host, path_of(key) AS path, query_of(key) AS query FROM unusual_url)
), members AS (
    SELECT id, folded FROM folds
    WHERE folded IN (SELECT folded FROM folds GROUP BY folded HAVING count(*) > 1)
)
SELECT u.id, loc, u.key, document, scheme, u.lastmod, lastmod_text, folded,
       starts_with(host, 'www.') AS has_www,
       path <> '/' AND ends_with(path, '/') AS has_slash,
       rtrim(path, '/') AS bare_path,
       CASE WHEN without_extras(query) = query THEN '' ELSE query END AS extra,
       place_of(d.rank, position) AS place
FROM (
    SELECT *, path_of(key) AS path, query_of(key) AS query FROM members JOIN url USING (id)
) u LEFT JOIN document d ON d.id = u.document

-- link_languages:
CREATE TABLE hreflang_link AS
SELECT a.url, a.document, a.hreflang, hash(u.key) AS page, hash(a.key) AS target,
       place_of(d.rank, u.position) AS place
FROM alternate a JOIN url u ON u.id = a.url LEFT JOIN document d ON d.id = a.document
WHERE a.hreflang IS NOT NULL

-- count_folders:
INSERT INTO folder
SELECT document, folder_of(key) AS prefix, count(*)
FROM url GROUP BY document, prefix

-- count_hosts:
SELECT document, scheme_of(prefix) AS scheme, host_of(prefix) AS host, sum(urls)::UBIGINT
FROM folder GROUP BY document, scheme, host

-- list_languages:
SELECT hreflang FROM alternate WHERE hreflang IS NOT NULL
UNION
SELECT lower(language) FROM news WHERE language IS NOT NULL

-- list_robots: rows of `robots`
SELECT scheme_of(key) || '://' || host_of(key), id, children, via IS NOT NULL
FROM document WHERE role = 'robots' AND status IN ('complete', 'partial')

-- allow_cross_submits: a robots.txt may list sitemaps of other hosts with URLs of its own
INSERT INTO cross_submit SELECT $host, id FROM document
WHERE key IN (SELECT unnest($keys)) OR final_key IN (SELECT unnest($keys))
   OR parent_id IN (SELECT id FROM document WHERE key IN (SELECT unnest($keys)))

-- block_site: one that is searched, or has URLs here, none of which is allowed
INSERT INTO robots_hit
SELECT $agent, 'site', $origin || '/', document FROM robots
WHERE origin = $origin AND (is_searched OR $refused > 0) AND $refused = (
    SELECT coalesce(sum(urls), 0) FROM host WHERE scheme || '://' || host = $origin
)

-- last_number:
SELECT greatest((SELECT max(id) FROM url_row), (SELECT max(id) FROM document))

-- url: those that a robots.txt may disallow
SELECT loc, document FROM url WHERE id > $after AND id <= $until
  AND starts_with(key, $scheme || '://' || $host || '/')
  AND CASE WHEN is_simple THEN regexp_matches(loc, $pieces) ELSE may_have(loc, $pieces) END

-- image: the same
SELECT loc, document FROM image WHERE url > $after AND url <= $until
  AND starts_with(lower(loc), $scheme || '://' || $host || '/')
  AND may_have(loc, $pieces)

-- sitemap: the same
SELECT url, id FROM document WHERE id > $after AND id <= $until
  AND role = 'sitemap' AND via IN ('robots', 'index')
  AND scheme_of(key) = $scheme AND host_of(key) = $host AND may_have(url, $pieces)
