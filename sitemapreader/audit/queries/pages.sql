-- Visits of pages, and what they say together. A line `-- name:` begins a query.

-- largest_folders: first folders with most pages of the sample, and of the site that old URLs lead to
SELECT folder FROM (
    SELECT first_folder(key) AS folder, false AS is_target, count(*) AS pages FROM sample GROUP BY folder
    UNION ALL
    SELECT first_folder(key), true, count(*) FROM url
    WHERE EXISTS (SELECT 1 FROM sample WHERE is_old) GROUP BY ALL
)
QUALIFY row_number() OVER (PARTITION BY is_target ORDER BY pages DESC, folder) <= $limit
ORDER BY is_target, pages DESC, folder

-- list_sample: in the order of the visits
SELECT loc FROM sample GROUP BY loc ORDER BY min(turn), loc

-- list_targets: pages that visited ones or their sitemaps name as canonical or version, or that old ones are to
-- lead to, and nothing lists
SELECT min(loc) FROM (
    SELECT canonical AS loc, url_key(canonical) AS key, 0 AS kind FROM page
    UNION ALL SELECT new, new_key, 0 FROM old_target
    UNION ALL SELECT key, key, 1 FROM page_alternate
    UNION ALL SELECT a.key, a.key, 1 FROM alternate a JOIN sample s ON s.url = a.url
    WHERE a.hreflang IS NOT NULL AND NOT s.is_old
)
WHERE regexp_matches(key, '^https?://') AND key NOT IN (
    SELECT key FROM url UNION ALL SELECT url_key(loc) FROM page
    UNION ALL SELECT url_key(final_url) FROM page WHERE final_url <> ''
)
GROUP BY key ORDER BY min(kind), hash(key)
LIMIT (SELECT least($limit, count(*)) FROM page WHERE not_judged IS NULL)

-- list_listed: of the sample
SELECT loc FROM sample WHERE NOT is_old ORDER BY turn

-- list_children: that indexes name
SELECT url FROM document WHERE via = 'index'

-- list_tried: URLs of any part of a large folder
SELECT loc FROM url_row WHERE (SELECT count(*) FROM url_row) > $least ORDER BY hash(id) LIMIT $limit

-- list_old: the others
SELECT loc FROM sample WHERE is_old AND loc NOT IN (SELECT loc FROM sample WHERE NOT is_old)
ORDER BY turn

-- describe_pages: what follows from an answer
UPDATE page SET key = url_key(loc), final_key = url_key(final_url),
    is_temporary = regexp_full_match(statuses, '30[237]( 30[237])*'),
    switches_language = statuses <> '' AND is_language_switch(loc, final_url),
    leads_to_login = statuses <> '' AND is_led_to_login(loc, final_url),
    differs_by = name_difference(url_key(loc), url_key(final_url)),
    canonical_key = url_key(canonical),
    canonical_differs_by = name_difference(url_key(final_url), url_key(canonical)),
    refresh_key = url_key(refresh_url)

-- join_sample: why a page was visited
UPDATE page SET is_listed = s.is_listed, is_old = s.is_old, url = s.url
FROM (
    SELECT loc, bool_or(NOT is_old) AS is_listed, bool_or(is_old) AS is_old,
           min(url) FILTER (NOT is_old) AS url
    FROM sample GROUP BY loc
) s WHERE s.loc = page.loc

-- join_listed: what sitemaps say of the pages
UPDATE page SET document = l.document, lastmod = l.lastmod
FROM (
    SELECT key, min(document) AS document, min(lastmod) AS lastmod
    FROM url WHERE key IN (SELECT key FROM page) GROUP BY key
) l WHERE l.key = page.key

-- add_crawled: listed pages that somebody else has visited, and we have not
INSERT INTO page BY NAME
SELECT loc, key, true AS is_listed, '' AS file,
       CASE WHEN redirects THEN coalesce(redirect, '') ELSE loc END AS final_url,
       CASE WHEN redirects THEN coalesce(redirect_key, '') ELSE key END AS final_key,
       CASE WHEN NOT redirects THEN status WHEN target_status >= 400 THEN target_status ELSE 200 END
           AS status,
       '' AS error,
       CASE WHEN is_blocked THEN 'robots' WHEN status = 429 OR target_status = 429 THEN 'asked-to-wait'
            WHEN status < 100 THEN 'network' END AS not_judged,
       CASE WHEN redirects THEN status::VARCHAR ELSE '' END AS statuses,
       status IN (302, 303, 307) AND redirect IS NOT NULL AS is_temporary,
       false AS switches_language, false AS leads_to_login, '' AS differs_by, is_html, is_noindex,
       canonical, canonical_key, 1 AS canonicals, '' AS canonical_differs_by
FROM (
    SELECT key, min(loc) AS loc, any_value(COLUMNS(* EXCLUDE (key, loc))),
           any_value(status) BETWEEN 300 AND 399 AS redirects
    FROM crawled WHERE key IN (SELECT key FROM url)
        AND key NOT IN (SELECT key FROM page WHERE is_listed)
    GROUP BY key
) LEFT JOIN (
    SELECT key AS redirect_key, any_value(status) AS target_status FROM crawled GROUP BY key
) USING (redirect_key)

-- load_earlier: a text that several pages have says nothing about one
INSERT INTO earlier
SELECT min(key), any_value(lastmod), text_hash FROM was.page
WHERE is_listed AND not_judged IS NULL AND fault IS NULL AND text_hash IS NOT NULL
GROUP BY text_hash HAVING count(DISTINCT key) = 1

-- forget_alike: the same today
DELETE FROM earlier WHERE text_hash IN (
    SELECT text_hash FROM page WHERE NOT is_named GROUP BY text_hash HAVING count(DISTINCT key) > 1
)

-- compared: pages whose texts are known from both audits, by one version of what a text is
SELECT count(DISTINCT key) FROM earlier JOIN page USING (key)
WHERE split_part(page.text_hash, '-', 1) = split_part(earlier.text_hash, '-', 1)

-- define_start: {} is the key of the start page of the site, which may be a folder of its host
CREATE OR REPLACE MACRO is_start(key) AS path_of(key) = '/' OR key = {}

-- mark_gates: pages of several folders, or most of a host, lead for the time being to one address
UPDATE page SET not_judged = 'gate'
WHERE not_judged IS NULL AND is_temporary AND NOT (is_old AND is_start(final_key))
  AND split_part(final_url, '?', 1) IN (
    SELECT target FROM (
        SELECT key, is_temporary, split_part(final_url, '?', 1) AS target,
               count(*) OVER (PARTITION BY host_of(key)) AS visited
        FROM page WHERE not_judged IS NULL
    )
    WHERE is_temporary GROUP BY target HAVING count(*) >= 3 AND 2 * count(*) > max(visited)
        OR count(*) >= 5 AND count(DISTINCT first_folder(key)) >= 2
)

-- mark_languages: a version in the language of who asks
UPDATE page SET not_judged = 'language'
WHERE not_judged IS NULL AND is_temporary AND switches_language

-- mark_refused: a host that refuses most pages refuses us
UPDATE page SET not_judged = 'protection'
WHERE not_judged IS NULL AND status IN (403, 451) AND file = '' AND host_of(final_key) IN (
    SELECT host_of(final_key) AS host FROM page WHERE not_judged IS NULL
    GROUP BY host HAVING 2 * count(*) FILTER (status < 400) < count(*)
)

-- mark_network: a host that hardly answers, or was given up, says nothing about a page
UPDATE page SET not_judged = 'network'
WHERE not_judged IS NULL AND file = ''
  AND (status BETWEEN 500 AND 599 OR status IS NULL AND error <> '' AND statuses = '')
  AND host_of(final_key) IN (
    SELECT host FROM (
        SELECT host_of(final_key) AS host, error,
               status < 500 OR regexp_matches(error, '^(redirect-loop|too-many-redirects):') AS responds
        FROM page WHERE not_judged IS NULL OR error LIKE 'host-down%'
        UNION ALL  -- a redirect to another host is a response as well
        SELECT host_of(key), '', true FROM page
        WHERE not_judged IS NULL AND statuses <> '' AND host_of(key) <> host_of(final_key)
    )
    GROUP BY host
    HAVING 2 * count(*) FILTER (responds) < count(*) OR bool_or(error LIKE 'host-down%')
)

-- list_texts: pages that may respond as a made-up path does; of those whose text cannot be that of an error
-- page, and was not read in a folder, as many as show that not most pages are alike
SELECT loc, final_url, status, file, text_hash, template_hash, says_missing, missing_words,
       is_notice
FROM page
WHERE not_judged IS NULL AND status = 200 AND (
    $has_probes AND (template_hash IS NOT NULL OR final_key <> key OR file <> '')
    OR is_notice OR is_error_path('/' || file) OR is_error_path(path_of(key))
)
QUALIFY file = '' OR template_hash IS NOT NULL OR is_notice OR is_error_path('/' || file)
    OR row_number() OVER (PARTITION BY first_folder(key), template_hash IS NULL)
       <= 1 + 2 * count(template_hash) OVER (PARTITION BY first_folder(key))

-- mark_soft_errors:
UPDATE page SET is_soft_404 = loc IN (SELECT unnest($locs))

-- mark_empty: scripts that most pages of a site or a folder have in place of a text build them in a browser
UPDATE page SET is_empty = is_page_empty(shows, p.site_shells, p.site_pages, p.folder_shells, p.folder_pages)
FROM (
    SELECT loc, count(*) FILTER (is_shell) OVER () AS site_shells, count(*) OVER () AS site_pages,
           count(*) FILTER (is_shell) OVER folder AS folder_shells, count(*) OVER folder AS folder_pages
    FROM (
        SELECT DISTINCT loc, first_folder(key) AS folder, coalesce(shows, '') = 'scripts' AS is_shell FROM page
        WHERE not_judged IS NULL AND status < 300
    ) WINDOW folder AS (PARTITION BY folder)
) p WHERE p.loc = page.loc AND shows <> 'something'

-- list_responses: the different ones of listed pages
SELECT DISTINCT * EXCLUDE page FROM page_response

-- mark_fault: of the pages with such a response
UPDATE page SET fault = CASE
    WHEN $fault = 'page-not-found' AND file = '' AND EXISTS (SELECT 1 FROM built) THEN 'page-missing'
    ELSE $fault END
FROM page_response r
WHERE r.page = page.rowid AND r.status = $status AND r.has_failed = $has_failed
  AND r.leads_to_login = $leads_to_login AND r.is_soft_404 = $is_soft_404 AND r.leads_on = $leads_on
  AND r.is_empty = $is_empty

-- mark_hidden: a noindex that more than nine of ten pages have says nothing about one of them
UPDATE page SET is_hidden = is_noindex AND NOT (
    SELECT count(*) > 1 AND count(*) FILTER (is_noindex) > 0.9 * count(*) FROM page
    WHERE is_listed AND not_judged IS NULL AND fault IS NULL
)

-- find_targets:
INSERT INTO target
SELECT key, any_value(nullif(explain_target(
    coalesce(status, 0), coalesce(error, ''), coalesce(leads_to_login, false),
    coalesce(is_soft_404, false), coalesce(is_empty, false),
    CASE WHEN final_key <> key THEN coalesce(nullif(final_url, ''), 'another page') ELSE '' END,
    CASE WHEN refresh_seconds <= 5 THEN refresh_url ELSE '' END, coalesce(is_hidden, false),
    CASE WHEN canonical_key <> final_key THEN canonical ELSE '' END
), ''))
FROM page WHERE not_judged IS NULL AND (is_listed OR is_named) GROUP BY key

-- find_canonical_faults: the site is all hosts of its sitemaps
UPDATE page SET canonical_fault = CASE
    WHEN canonicals > 1 THEN 'page-canonical-elsewhere'
    WHEN canonical_differs_by <> '' THEN 'page-canonical-variant'
    WHEN bare_host(host_of(canonical_key)) NOT IN (SELECT bare_host(host) FROM url)
        THEN 'page-canonical-offsite'
    WHEN regexp_matches(why, '^(redirects|refreshes|names) ') THEN 'page-canonical-leads-on'
    WHEN why IS NOT NULL THEN 'page-canonical-broken'
    ELSE 'page-canonical-elsewhere' END
FROM (SELECT loc, why FROM page LEFT JOIN target ON target.key = canonical_key) t
WHERE t.loc = page.loc AND not_judged IS NULL AND is_listed AND fault IS NULL
  AND (canonicals > 1 OR canonical_key <> final_key)

-- add_canonical_hits: a table, because as a view each of five rules would read all of it
INSERT INTO canonical_hit
SELECT canonical_fault, loc,
       CASE WHEN canonicals > 1 THEN canonicals || ' different ones, ' ELSE '' END || canonical
           || CASE WHEN t.why IS NOT NULL THEN ', which ' || t.why
                   WHEN canonical_key IN (SELECT key FROM url) THEN ', which is listed' ELSE '' END,
       document, nullif(file, ''), canonical_line
FROM page LEFT JOIN target t ON t.key = canonical_key WHERE canonical_fault IS NOT NULL

-- add_unlisted:
INSERT INTO unlisted
SELECT loc, file, is_archive_path(path_of(key)) FROM page
WHERE NOT is_listed AND NOT is_named AND not_judged IS NULL AND title IS NOT NULL AND NOT is_hidden
  AND refresh_url IS NULL
  AND (canonical_key IS NULL OR canonical_key = final_key OR canonical_differs_by = 'slash')
  AND statuses = '' AND key NOT IN (SELECT key FROM url) AND NOT is_numbered_path(path_of(key))

-- find_indexed:
UPDATE page SET is_indexed = is_html AND NOT is_hidden AND fault IS NULL
    AND coalesce(canonical_key = final_key, true)
WHERE is_listed AND url IS NOT NULL AND not_judged IS NULL

-- add_alternates: what pages say of other languages that their sitemaps do not
INSERT INTO alternate BY NAME
SELECT u.id AS url, u.document, a.key AS href, a.key, a.hreflang, a.written, p.file, a.line AS file_line
FROM page p JOIN url_row u ON u.id = p.url JOIN page_alternate a ON a.page = p.key
WHERE p.is_indexed AND p.url NOT IN (SELECT url FROM alternate WHERE hreflang IS NOT NULL)

-- find_fates: of old pages, by where they lead; a refresh within five seconds counts as a redirect
UPDATE page SET fate = CASE
    WHEN status IN (404, 410) THEN 'was-lost'
    WHEN status >= 300 OR error <> '' THEN 'was-error'
    WHEN is_start(f.target) AND NOT is_start(page.key) AND NOT f.was_start THEN 'was-to-start'
    WHEN is_soft_404 OR is_empty THEN 'was-lost'
    WHEN f.is_old_host AND NOT f.is_listed OR f.stays THEN 'was-alive'
    WHEN is_noindex THEN 'was-noindex'
    WHEN NOT f.is_listed THEN 'was-unlisted'
    WHEN regexp_matches(statuses, '30[237]') THEN 'was-temporary'
    END
FROM (
    SELECT rowid AS id, CASE WHEN refresh_seconds <= 5 THEN refresh_key ELSE final_key END AS target,
           -- where no page is listed: the site has left this host
           host_of(target) = host_of(key) AND host_of(target) NOT IN (SELECT host_of(key) FROM url)
               AS is_old_host,
           -- though it is to lead elsewhere
           target = key AND key IN (
               SELECT key FROM old_target WHERE new_key <> key AND other_key <> key
           ) AS stays,
           target IN (SELECT key FROM url)
           OR coalesce(canonical_key IN (SELECT key FROM url), false) AS is_listed,
           -- the folder that all other old URLs are in
           key IN (
               SELECT min(key) FROM old GROUP BY host_of(key)
               HAVING count(*) > 1 AND starts_with(max(key), min(key)) AND ends_with(min(key), '/')
           ) AS was_start
    FROM page WHERE is_old AND not_judged IS NULL
) f WHERE f.id = page.rowid

-- fates: by folder, those that lost most first
SELECT first_folder(key) AS folder, count(*) AS pages,
       count(*) FILTER (fate = 'was-lost') AS lost,
       count(*) FILTER (fate = 'was-to-start') AS to_start,
       count(*) FILTER (fate = 'was-temporary') AS temporary,
       count(*) FILTER (fate = 'was-unlisted') AS unlisted,
       count(*) FILTER (fate = 'was-noindex') AS noindex,
       count(*) FILTER (fate = 'was-alive') AS alive,
       count(*) FILTER (fate = 'was-error') AS failed
FROM page WHERE is_old AND not_judged IS NULL
GROUP BY folder ORDER BY lost + failed DESC, count(fate) DESC, folder LIMIT 500

-- rows: a row a visited page, in the order of their URLs; {} is the query of the rules that hit them
SELECT p.loc AS url, status,
       CASE WHEN not_judged IS NULL OR statuses <> '' THEN coalesce(final_url, '') ELSE '' END AS final_url,
       round(1000 * seconds)::BIGINT AS ms, title, CASE WHEN status = 200 THEN is_noindex END AS noindex,
       coalesce(canonical, '') AS canonical, coalesce(chain, statuses, '') AS redirects,
       concat_ws(', ', CASE WHEN is_listed THEN 'listed' END, CASE WHEN is_old THEN 'old' END,
                 CASE WHEN is_named THEN 'named' END) AS list,
       coalesce(hits.codes, '') AS findings, coalesce(not_judged, '') AS not_judged,
       coalesce(nullif(split_part(statuses, ' ', 1), '')::USMALLINT, status) AS first_status,
       CASE WHEN status <> 200 OR NOT is_noindex OR chain IS NULL THEN ''
            WHEN noindex_line IS NULL THEN 'header' ELSE 'meta' END AS noindex_by,
       CASE WHEN is_old THEN coalesce(t.new, '') ELSE '' END AS planned
FROM page p LEFT JOIN old_target t ON t.key = p.key LEFT JOIN (
    SELECT url, string_agg(code, ' ' ORDER BY code) AS codes FROM ({}) GROUP BY url
) hits ON hits.url = p.loc
ORDER BY p.loc, list

-- tally: pages that were wanted, reached in time, visited, and judged, and why not; {0} is which
SELECT count(*), count(*) FILTER (not_judged IS DISTINCT FROM 'time'),
       count(*) FILTER (not_judged IS NULL OR not_judged NOT IN ('time', 'robots', 'robots-unreachable', 'elsewhere') OR statuses <> ''),
       count(*) FILTER (not_judged IS NULL), (
    SELECT map(list(reason), list(number)) FROM (
        SELECT not_judged AS reason, count(*) AS number FROM page
        WHERE {0} AND not_judged IS NOT NULL GROUP BY reason ORDER BY number DESC, reason
    )
)
FROM page WHERE {0}

-- judged: the pages that were judged; {0} is which
SELECT DISTINCT loc FROM page WHERE {0} AND not_judged IS NULL ORDER BY loc

-- listed: different URLs
SELECT count(DISTINCT key) FROM url

-- old: as many as there were
SELECT count(*) FROM old

-- count_faulty: judged pages that rules hit; {} is the query of their URLs
SELECT count(*) FROM page
WHERE CASE WHEN $is_old THEN is_old ELSE is_listed END AND not_judged IS NULL AND loc IN (SELECT url FROM ({}))

-- drawn: strata of the sample, of which no page has a fault
SELECT s.size, count(*) FILTER (not_judged IS NULL), 0
FROM page JOIN sample s USING (loc) WHERE s.is_old = $is_old GROUP BY s.stratum, s.size

-- is_sampled: whether not all pages were to be visited, or the time was over
SELECT (SELECT count(*) FROM sample WHERE is_old = $is_old) < CASE
           WHEN $is_old THEN (SELECT count(*) FROM old) ELSE (SELECT count(DISTINCT key) FROM url) END
    OR EXISTS (
        FROM page WHERE not_judged = 'time' AND CASE WHEN $is_old THEN is_old ELSE is_listed END
    )

-- strata: of the sample, and the hits of rules in them; {} is the query of their URLs
SELECT s.size, count(*) FILTER (not_judged IS NULL),
       count(*) FILTER (not_judged IS NULL AND loc IN (SELECT url FROM ({})))
FROM page JOIN sample s USING (loc) WHERE s.is_old = $is_old GROUP BY s.stratum, s.size
