-- What rules need, what they looked at, and what they hit. A line `-- name:` begins a query.

-- lost: sitemaps that were not read, or not to their end, though a record that cannot be read costs itself
-- alone; and errors that are neither of missing sitemaps nor of such records
WITH error AS (
    SELECT c.document, c.count,
           c.code IN (SELECT unnest($of_records)) AND coalesce(d.format <> 'sitemapindex', false) AS is_of_record,
           coalesce(is_absent(d.status, d.http_status, d.reason), false) AS is_of_gone
    FROM issue_count c LEFT JOIN document d ON d.id = c.document WHERE c.severity = 'error'
)
SELECT count(*) FILTER (NOT is_gone) AS lost, count(*) FILTER (is_gone) AS gone,
       (SELECT count(*) FROM error WHERE NOT is_of_gone AND NOT is_of_record) AS errors,
       (SELECT coalesce(sum(count), 0)::BIGINT FROM error WHERE is_of_record) AS records
FROM (
    SELECT coalesce(is_absent(status, http_status, reason), false) AS is_gone FROM document
    WHERE role = 'sitemap' AND (
        status = 'failed' OR (status = 'skipped' AND is_excused)
        OR (status = 'partial' AND (reason NOT IN (SELECT unnest($of_records)) OR id IN (
            SELECT document FROM error WHERE NOT is_of_record AND document IS NOT NULL
        )))
    )
)

-- judged_urls: whether the robots.txt of a host of URLs was read, or there are no URLs
SELECT NOT EXISTS (FROM host) OR EXISTS (
    FROM host WHERE scheme || '://' || host IN (SELECT origin FROM robots)
)

-- judged_images: the same of images
SELECT NOT EXISTS (FROM image) OR EXISTS (
    FROM image WHERE regexp_extract(lower(loc), '^https?://[^/?#@]+') IN (SELECT origin FROM robots)
)

-- unread_robots: that of the site, if it was looked for
SELECT reason, http_status FROM document WHERE role = 'robots' ORDER BY id LIMIT 1

-- overlap:
SELECT count(*), count(*) FILTER (key IN (SELECT key FROM known)) FROM url

-- looked_at: for the unit of a rule, how many of these there are (a row each: see `totals`)
SELECT 'URLs', count(*) FROM url_row
UNION ALL
SELECT 'records', (SELECT count(*) FROM url_row) + coalesce(sum(dropped), 0)::BIGINT FROM document
WHERE format <> 'sitemapindex'
UNION ALL
SELECT 'sitemaps', count(*) FROM document
WHERE role = 'sitemap' AND (status IN ('complete', 'partial', 'unchanged')
    OR via <> 'well-known' AND (status = 'failed' OR status = 'skipped' AND is_excused))
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

-- nothing_read: the first thing that a rule needs and that was not read, or ''
SELECT CASE WHEN NOT EXISTS (
           FROM document WHERE role = 'sitemap' AND status IN ('complete', 'partial', 'unchanged')
       ) THEN 'sitemap' WHEN NOT EXISTS (FROM url_row) THEN 'URL' ELSE '' END

-- hits_of: the columns of a hit, {} is the query of a rule
SELECT url, detail, document, severity, file, file_line, line FROM (
    SELECT NULL::VARCHAR AS url, NULL::VARCHAR AS detail, NULL::UINTEGER AS document,
           NULL::VARCHAR AS severity, NULL::VARCHAR AS file, NULL::UBIGINT AS file_line,
           NULL::UBIGINT AS line
    WHERE false
    UNION ALL BY NAME
    SELECT hit.url, hit.detail, hit.document, hit.* EXCLUDE (url, detail, document)
    FROM ({}) AS hit
)

-- list_places: pages of hits, or sitemaps of those without; {} is the query of the hits
SELECT DISTINCT coalesce(nullif(hit.url, ''), d.url, '')
FROM ({}) AS hit LEFT JOIN document d ON d.id = hit.document

-- split_hits: hits that are ignored or not; {0} is a code, {1} the query of its hits, {2} is "NOT" or ""
SELECT hit.* FROM ({1}) AS hit LEFT JOIN document d ON d.id = hit.document
WHERE coalesce(nullif(hit.url, ''), d.url, '') {2} IN (SELECT url FROM ignored WHERE code = '{0}')

-- ignore_issues: {} is the query of those of a code
DELETE FROM issue WHERE rowid IN (SELECT id FROM ({}))

-- ignore_counts: the same
UPDATE issue_count SET count = issue_count.count - i.number
FROM (SELECT code, document, count(*) AS number FROM ({}) GROUP BY ALL) i
WHERE i.code = issue_count.code AND i.document IS NOT DISTINCT FROM issue_count.document

-- forget_ignored: what is ignored is neither known nor mended
DELETE FROM baseline WHERE (code, split_part(subject, ' ', 1)) IN (SELECT (code, url) FROM ignored)

-- place_hits: {} are the code of a rule and the query of its hits
INSERT INTO place
SELECT '{0}', document, count(*), max(severity::grade), NULL, min({{
           'url': coalesce(url, ''), 'detail': coalesce(detail, ''), 'document': document,
           'line': line, 'file': coalesce(file, ''), 'file_line': file_line
       }}, $most)
FROM ({1}) GROUP BY document

-- place_issues: an empty sitemap counts below an index, and as an error where no sitemap has a URL, but
-- never for news, and for a feed only in the latter case; what may be no fault of the site is a note, and
-- nothing at all beside what is one; a sitemap of robots.txt that is not there is no second finding
INSERT INTO place BY NAME
WITH site AS (
    SELECT NOT EXISTS (FROM url_row) AND NOT EXISTS (
        FROM document WHERE role = 'sitemap' AND via <> 'well-known'
            AND (status = 'failed' OR status = 'skipped' AND is_excused)
    ) AS has_none
), counted AS (
    SELECT c.code, c.document, sum(c.count)::UBIGINT AS count,
           coalesce(bool_or(d.is_excused), false) AND list_contains($excusable, c.code) AS is_excused,
           c.code = 'empty' AND s.has_none AS is_alone
    FROM issue_count c LEFT JOIN document d ON d.id = c.document, site s
    WHERE list_contains($codes, c.code) AND NOT (c.code = 'http-status' AND $is_told AND c.document IN (SELECT id FROM broken_line))
      AND (c.code <> 'empty'
       OR ((d.via = 'index' AND NOT d.is_feed OR s.has_none) AND d.news = 0
           AND NOT contains(lower(d.url), 'news')))
    GROUP BY c.code, c.document, s.has_none
), shown AS (
    SELECT i.code, c.document, min(line) AS line, list({
               'url': coalesce(url, ''), 'detail': coalesce(value, ''), 'document': i.document,
               'line': line, 'file': '', 'file_line': NULL::UBIGINT
           } ORDER BY line, url, value)[:$most] AS first
    FROM issue i LEFT JOIN counted c ON c.code = i.code AND c.document = i.document
    GROUP BY i.code, c.document
)
SELECT c.code, c.document, count,
       CASE WHEN is_excused THEN 'info' WHEN is_alone THEN 'error' END AS severity, line,
       coalesce(first, []) AS first
FROM counted c LEFT JOIN shown s ON s.code = c.code AND s.document IS NOT DISTINCT FROM c.document
QUALIFY NOT is_excused OR bool_and(is_excused) OVER (PARTITION BY c.code)

-- view_issue: {} is a code
SELECT coalesce(url, '') AS url, coalesce(value, '') AS detail, document, line FROM issue
WHERE code = '{}'

-- refused: whether the site or the network may have kept sitemaps from us, or names of them
SELECT count(*) > 0 OR EXISTS (FROM document WHERE http_status >= 500)
FROM issue_count c LEFT JOIN document d ON d.id = c.document
WHERE list_contains($about_us, c.code) OR d.is_excused OR c.code = 'robots-unreachable'

-- findings: for each rule that hit, how often, in how many sitemaps, how gravely, and with how many URLs
SELECT code, sum(count)::BIGINT AS count, count(document) AS places_total,
       max(p.severity)::VARCHAR AS severity, sum(d.urls)::BIGINT AS urls_of_places,
       bool_or(d.status IN ('failed', 'partial', 'skipped')) AS is_unread,
       bool_or(len(list_filter(first, lambda hit: hit.url <> '')) > 0) AS has_urls,
       -- an Issue of a whole sitemap may say how many
       sum(try_cast(regexp_extract(first[1].detail, '^([0-9]+) entries$', 1) AS BIGINT))::BIGINT AS entries
FROM place p LEFT JOIN document d ON d.id = p.document
GROUP BY code

-- places: of each rule, those with most hits
SELECT p.code, d.url AS document, p.count, coalesce(p.first[1].url, '') AS url, p.line, NULL AS new
FROM place p JOIN document d ON d.id = p.document
QUALIFY row_number() OVER (PARTITION BY p.code ORDER BY p.count DESC, d.url) <= $most
ORDER BY p.code, p.count DESC, d.url

-- hits: of each rule, in turn from the sitemaps that have most
SELECT code, hit.url, hit.detail, coalesce(d.url, '') AS document, hit.line, hit.file, hit.file_line,
       NULL AS new
FROM (
    SELECT code, p.count AS hits, unnest(first) AS hit, generate_subscripts(first, 1) AS turn
    FROM place p
) LEFT JOIN document d ON d.id = hit.document
QUALIFY row_number() OVER (PARTITION BY code ORDER BY turn, hits DESC, coalesce(d.url, '')) <= $most
ORDER BY code, turn, hits DESC, coalesce(d.url, '')

-- list_hits: {} is a code
SELECT '{0}' AS code, coalesce(hit.url, '') AS url, coalesce(hit.detail, '') AS detail,
       coalesce(document.url, '') AS document
FROM rule."{0}" AS hit LEFT JOIN document ON document.id = hit.document

-- define_page_hits: which rules hit each visited page
CREATE TEMP TABLE page_hit (code VARCHAR, url VARCHAR)

-- add_page_hits: {0} is the code of a rule
INSERT INTO page_hit SELECT DISTINCT '{0}', url FROM rule."{0}" WHERE url IN (SELECT loc FROM page)

-- shared: of the hits of a rule, the ones whose page other rules hit; {0} is its code, {1} are their URLs; {2}
-- says that it is about links, whose page is the one that they lead to, with which the detail begins
SELECT count(*) FILTER (
    path_of(CASE WHEN {2} THEN split_part(detail, ' ', 1) ELSE url END) IN (
        SELECT path_of(url) FROM ({1}) WHERE url <> ''
    )
), count(*)
FROM rule."{0}" WHERE url <> ''

-- count_places: by sitemap, how many hits a rule has, and how many of these have a name; {0} is its code
SELECT coalesce(d.url, '') AS document, p.count, coalesce(h.named, 0) AS named, coalesce(h.known, 0) AS known
FROM (
    SELECT document, sum(count)::BIGINT AS count FROM place WHERE code = '{0}' GROUP BY document
) p LEFT JOIN document d ON d.id = p.document LEFT JOIN (
    SELECT document, count(*) FILTER (hit.url <> '') AS named, count(b.subject) AS known
    FROM rule."{0}" AS hit LEFT JOIN (
        SELECT DISTINCT subject FROM baseline WHERE code = '{0}'
    ) b ON b.subject = subject_of(hit.url, hit.detail, {1}) AND hit.url <> ''
    GROUP BY document
) h ON h.document IS NOT DISTINCT FROM p.document
ORDER BY document

-- list_subjects: what a baseline names of a rule, {0} is its code
SELECT DISTINCT subject_of(hit.url, hit.detail, {1}) AS subject
FROM rule."{0}" AS hit LEFT JOIN document d ON d.id = hit.document
WHERE hit.url <> '' AND NOT list_contains($counted, coalesce(d.url, '')) ORDER BY subject

-- list_counts: hits of the baseline that have no names, {0} is the code of a rule
SELECT document, sum(hits)::BIGINT FROM baseline_count WHERE code = '{0}' GROUP BY document

-- list_mended: named hits of the baseline that are gone, {0} is the code of a rule
SELECT subject FROM baseline WHERE code = '{0}'
EXCEPT SELECT subject_of(url, detail, {1}) FROM rule."{0}" ORDER BY subject

-- list_read: hits of the baseline whose URL was read
SELECT subject FROM (SELECT unnest($subjects::VARCHAR[]) AS subject)
WHERE split_part(subject, ' ', 1) IN (SELECT loc FROM url UNION ALL SELECT url FROM document)
ORDER BY subject

-- new_hits: named hits that the baseline lacks, {0} is the code of a rule
SELECT DISTINCT coalesce(hit.url, '') AS url, coalesce(hit.detail, '') AS detail,
       coalesce(d.url, '') AS document, hit.line, coalesce(hit.file, '') AS file, hit.file_line
FROM rule."{0}" AS hit LEFT JOIN document d ON d.id = hit.document
ANTI JOIN baseline b ON b.code = '{0}' AND b.subject = subject_of(hit.url, hit.detail, {1})
ANTI JOIN baseline_count c ON c.code = '{0}' AND c.document = coalesce(d.url, '')
ORDER BY url, document, detail LIMIT $most

-- mark_hits: all hits of a rule, and whether each is new; {0} is its code, {1} the query of the new ones
SELECT '{0}' AS code, coalesce(hit.url, '') AS url, coalesce(hit.detail, '') AS detail,
       coalesce(d.url, '') AS document, CASE WHEN n.url IS NULL THEN '' ELSE 'new' END AS new
FROM rule."{0}" AS hit LEFT JOIN document d ON d.id = hit.document
LEFT JOIN (SELECT DISTINCT url, detail, document FROM ({1})) n
    ON n.url = coalesce(hit.url, '') AND n.document = coalesce(d.url, '') AND n.detail = coalesce(hit.detail, '')
ORDER BY new DESC, url, document
