-- What robots.txt files say of the URLs. A line `-- name:` begins a query.

-- list_read: those of the walk
INSERT INTO robots
SELECT scheme_of(key) || '://' || host_of(key), id, children, via IS NOT NULL
FROM document WHERE role = 'robots' AND status IN ('complete', 'partial')

-- add_fetched:
INSERT INTO robots SELECT $origin, NULL, $sitemaps, false
WHERE $origin NOT IN (SELECT origin FROM robots)

-- allow_cross_submits: a robots.txt may list sitemaps of other hosts with URLs of its own
INSERT INTO cross_submit SELECT $host, id FROM document
WHERE key IN (SELECT unnest($keys)) OR final_key IN (SELECT unnest($keys))
   OR parent_id IN (SELECT id FROM document WHERE key IN (SELECT unnest($keys)))

-- judge_urls: pieces of the rules find candidates, which the rules themselves then judge
INSERT INTO robots_hit
SELECT $agent, 'url', loc, document FROM url
WHERE is_refused($origin, $agent, CASE
    WHEN NOT starts_with(key, $origin || '/') THEN NULL
    WHEN CASE WHEN is_simple THEN regexp_matches(loc, $pieces) ELSE may_have(loc, $pieces) END
    THEN loc END)

-- judge_images:
INSERT INTO robots_hit
SELECT $agent, 'image', loc, document FROM image
WHERE is_refused($origin, $agent || '-Image ' || $agent, CASE
    WHEN starts_with(lower(loc), $origin || '/') AND may_have(loc, $pieces) THEN loc END)

-- judge_sitemaps:
INSERT INTO robots_hit
SELECT $agent, 'sitemap', url, id FROM document
WHERE role = 'sitemap' AND via IN ('robots', 'index') AND is_refused($origin, $agent, CASE
    WHEN starts_with(key, $origin || '/') AND may_have(url, $pieces) THEN url END)

-- block_site: one that is searched, or has URLs here, none of which is allowed
INSERT INTO robots_hit
SELECT $agent, 'site', $origin || '/', document FROM robots
WHERE origin = $origin AND (is_searched OR $refused > 0) AND $refused = (
    SELECT coalesce(sum(urls), 0) FROM host WHERE scheme || '://' || host = $origin
)
