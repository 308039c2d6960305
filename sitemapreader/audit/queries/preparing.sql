-- What rules need is computed from the rows of the walk, in this order. A line `-- name:` begins a query.

-- find_unusual: nine of ten URLs are simple, and rules about characters and parameters need not look at them;
-- as a view, each of these rules would read the others too: a tenth of an audit's time
CREATE TABLE unusual_url AS SELECT * FROM url WHERE NOT is_simple

-- count_urls:
UPDATE document SET urls = s.urls, dated = s.dated, newest = s.newest
FROM (
    SELECT document, count(*) AS urls, count(lastmod) AS dated,
           max(lastmod) FILTER (lastmod <= $now) AS newest
    FROM url_row GROUP BY document
) s WHERE s.document = document.id

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

-- define_extras:
CREATE MACRO without_extras(query) AS
    CASE WHEN query = '' THEN ''
         ELSE ltrim(regexp_replace(regexp_replace(query, $tracking, '', 'g'), $session, '', 'g'), '&') END

-- find_repeated: URLs of which others differ in slash, www, case or parameters at most
CREATE TABLE repeated AS
WITH folds AS MATERIALIZED (
    SELECT id, hash(without_slash(bare_url(loc))) AS folded
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
       place_of(d.rank, u.id) AS place
FROM (
    SELECT *, path_of(key) AS path, query_of(key) AS query FROM members JOIN url USING (id)
) u LEFT JOIN document d ON d.id = u.document

-- link_languages:
INSERT INTO hreflang_link
SELECT a.url, a.document, a.hreflang, hash(u.key) AS page, hash(a.key) AS target,
       place_of(d.rank, u.id) AS place, a.file, a.file_line
FROM alternate a JOIN url u ON u.id = a.url LEFT JOIN document d ON d.id = a.document
WHERE a.hreflang IS NOT NULL

-- count_folders: simple URLs have few directories, and the expression is needed once for each
INSERT INTO folder
SELECT document, folder_of(part) AS prefix, sum(urls)
FROM (
    SELECT document, parse_dirpath(loc, 'forward_slash') || '/' AS part, count(*) AS urls
    FROM url_row WHERE is_simple GROUP BY document, part
    UNION ALL
    SELECT document, key, 1 FROM unusual_url
) GROUP BY document, prefix

-- count_hosts:
INSERT INTO host
SELECT *, why_hidden(regexp_replace(host, ':\d+$', '')) AS hidden,
       hidden LIKE '%production host'
FROM (
    SELECT document, scheme_of(prefix) AS scheme, host_of(prefix) AS host, sum(urls)::UBIGINT
    FROM folder GROUP BY document, scheme, host
)

-- judge_languages:
INSERT INTO language
SELECT code, judge_hreflang(code).is_valid, judge_hreflang(code).hint,
       -- news take ISO 639 with two or three letters, and two kinds of Chinese
       code IN ('zh-cn', 'zh-tw') OR regexp_full_match(code, '[a-z]{2,3}')
           AND (length(code) = 3 OR judge_hreflang(code).is_valid)
FROM (
    SELECT hreflang AS code FROM alternate WHERE hreflang IS NOT NULL
    UNION
    SELECT lower(language) FROM news WHERE language IS NOT NULL
)
