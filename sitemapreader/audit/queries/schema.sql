-- The tables of an audit's database. docs/audit.md describes them: change both.
-- Times are in UTC, without a zone. Keys are those of `sitemapreader._types.urls.url_key`.

CREATE TABLE document (
    id UINTEGER,               -- the number by which other tables name it
    url VARCHAR,               -- the address under which it was listed
    key VARCHAR,               -- key of that address
    final_url VARCHAR,         -- the address after redirects; '' without an answer
    final_key VARCHAR,         -- its key; that of url without an answer
    parent VARCHAR,            -- URL of the document that lists it, or ''
    parent_id UINTEGER,        -- its number
    role VARCHAR,              -- sitemap, robots, page
    via VARCHAR,               -- robots, well-known, html, header, index, page, given
    format VARCHAR,            -- urlset, sitemapindex, rss, atom, text, html
    status VARCHAR,            -- complete, partial, failed, unchanged, skipped
    reason VARCHAR,            -- why it is not complete, or ''
    http_status USMALLINT,
    listed UBIGINT,            -- URLs that it lists
    children UBIGINT,          -- sitemaps that it lists
    dropped UBIGINT,           -- records that were left out
    bytes_raw UBIGINT,         -- as they came over the wire
    bytes_inflated UBIGINT,    -- after decompression
    lastmod TIMESTAMP,         -- what its index says of it
    last_modified TIMESTAMP,   -- header of the answer
    etag VARCHAR,              -- header of the answer
    content_type VARCHAR,      -- header of the answer
    content_encoding VARCHAR,  -- header of the answer
    first_byte_seconds DOUBLE, -- from the request to the answer's headers, of the last try
    wait_seconds DOUBLE,       -- for the whole answer, of the last try
    fetched_at TIMESTAMP,      -- when its outcome was known
    is_http BOOLEAN,           -- came from a server, not from a folder or a file
    is_excused BOOLEAN,        -- not read, but not by a fault of the site: it refused us ...
    urls UBIGINT,              -- rows in `url`
    dated UBIGINT,             -- of these with a lastmod
    newest TIMESTAMP,          -- newest lastmod that is not in the future
    common_lastmod TIMESTAMP,  -- the lastmod that most of its URLs have
    common_count UBIGINT,      -- how many have it
    news UBIGINT,              -- of its URLs are news articles
    is_feed BOOLEAN,           -- RSS or Atom
    rank UINTEGER              -- its place among all documents by URL: the same in each audit
);

CREATE TABLE url_row (
    id UBIGINT,                -- by which others name it; rises within a document
    document UINTEGER,
    loc VARCHAR,               -- as written
    other_key VARCHAR,         -- the key, where it differs from loc
    is_simple BOOLEAN,         -- only a-z, 0-9, ., -, _ and ~ between single slashes: its own key
    lastmod TIMESTAMP,
    lastmod_text VARCHAR,      -- as written
    changefreq VARCHAR,
    priority DOUBLE
);

CREATE MACRO without_query(loc) AS split_part(split_part(loc, '#', 1), '?', 1);
-- A regular expression takes three times as long.
CREATE MACRO path_of(loc) AS substr(
    without_query(loc),
    instr(loc, '://') + 3 + length(split_part(without_query(loc), '/', 3))
);
CREATE MACRO query_of(loc) AS
    CASE WHEN contains(loc, '?')
         THEN substr(split_part(loc, '#', 1), instr(split_part(loc, '#', 1) || '?', '?') + 1)
         ELSE '' END;
CREATE MACRO host_of(key) AS split_part(key, '/', 3);
CREATE MACRO scheme_of(key) AS split_part(key, ':', 1);
CREATE MACRO after_scheme(key) AS
    CASE WHEN starts_with(key, 'https') THEN substr(key, 9) ELSE substr(key, 8) END;
-- A URL may spell a piece of a rule with escapes, or with blanks that are ignored.
CREATE MACRO may_have(loc, pieces) AS
    contains(loc, chr(9)) OR contains(loc, chr(10)) OR contains(loc, chr(13)) OR coalesce(
        regexp_matches(CASE WHEN contains(loc, '%') THEN try(url_decode(loc)) ELSE loc END, pieces),
        true
    );
-- rtrim takes longer than all the rest of a fold.
CREATE MACRO without_slash(text) AS
    CASE WHEN ends_with(text, '/') THEN rtrim(text, '/') ELSE text END;
CREATE MACRO bare_host(host) AS
    CASE WHEN starts_with(host, 'www.') THEN substr(host, 5) ELSE host END;
-- Without scheme and www. at once, because each text on the way takes as long as a hash.
CREATE MACRO bare_url(key) AS substr(key, CASE
    WHEN starts_with(key, 'https://www.') THEN 13 WHEN starts_with(key, 'https://') THEN 9
    WHEN starts_with(key, 'http://www.') THEN 12 ELSE 8 END);

-- By what alone two keys differ: "https", "www", "slash", "case", or "".
CREATE MACRO name_difference(key, other) AS CASE
    WHEN key = other THEN ''
    WHEN after_scheme(key) = after_scheme(other) THEN 'https'
    WHEN replace(key, '://www.', '://') = replace(other, '://www.', '://') THEN 'www'
    WHEN rtrim(key, '/') = rtrim(other, '/') THEN 'slash'
    WHEN lower(key) = lower(other) THEN 'case'
    ELSE '' END;

-- Why nobody can reach a host, or '', and whether its name is the reason; the name has no port.
CREATE MACRO is_staging(name) AS len(string_split(rtrim(name, '.'), '.')) > 2
    AND split_part(name, '.', 1) IN ('staging', 'stage', 'dev', 'test', 'uat', 'preprod');
CREATE MACRO why_hidden(name) AS CASE
    WHEN regexp_matches(name, '^(\[.*\]|[0-9.]+)$') THEN name || ' is a literal address'
    WHEN contains(name, '[') THEN name || ' is no host'
    WHEN NOT contains(rtrim(name, '.'), '.') OR split_part(rtrim(name, '.'), '.', -1) IN (
        'local', 'test', 'internal', 'localhost', 'localdomain', 'lan', 'home', 'corp', 'invalid'
    ) THEN name || ' is not a public name'
    WHEN is_staging(name) THEN name || ' is not a production host'
    ELSE '' END;

-- Numbers follow the order in which documents arrive, which differs from audit to audit.
CREATE MACRO place_of(rank, number) AS (coalesce(rank, 4294967295)::UBIGINT << 32) | number;

-- A sitemap that does not exist: 404, 410, or a page in its place.
CREATE MACRO is_absent(status, http_status, reason) AS
    status = 'failed' AND (http_status IN (404, 410) OR reason = 'html-not-sitemap');

-- As in `sitemapreader._types.counts`: "1 URL", "2 URLs".
CREATE MACRO count_units(number, units) AS number || ' ' || CASE
    WHEN number <> 1 THEN units WHEN units = 'children' THEN 'child' ELSE rtrim(units, 's') END;

-- By what a hit is known again, whichever sitemap lists its page: the URL, and of a link the target as well.
CREATE MACRO subject_of(url, detail, is_link) AS
    coalesce(url, '') || CASE WHEN is_link AND detail <> '' THEN ' (' || detail || ')' ELSE '' END;

CREATE MACRO folder_of(key) AS regexp_extract(key, '^[^/]*//[^/?]*/?(?:[^/?]+/){0,2}');

CREATE VIEW url AS
SELECT id, document, loc,
       coalesce(other_key, loc) AS key,
       scheme_of(coalesce(other_key, loc)) AS scheme,
       host_of(coalesce(other_key, loc)) AS host, -- in lower case, with an unusual port
       path_of(loc) AS path,                      -- as written
       query_of(loc) AS query,                    -- as written, without its mark
       lastmod, lastmod_text, changefreq, priority, is_simple
FROM url_row;

CREATE VIEW broken_line AS     -- sitemaps that robots.txt names, and that cannot be read
SELECT * FROM document
WHERE via = 'robots' AND role = 'sitemap' AND status = 'failed' AND NOT is_excused;

CREATE TABLE image (
    url UBIGINT, document UINTEGER,
    loc VARCHAR, title VARCHAR, caption VARCHAR, geo_location VARCHAR, license VARCHAR
);
CREATE TABLE video (
    url UBIGINT, document UINTEGER,
    thumbnail_loc VARCHAR, title VARCHAR, description VARCHAR, content_loc VARCHAR,
    player_loc VARCHAR, expiration_date TIMESTAMP, publication_date TIMESTAMP, duration BIGINT
);
CREATE TABLE news (
    url UBIGINT, document UINTEGER,
    name VARCHAR, language VARCHAR, publication_date TIMESTAMP, title VARCHAR
);
CREATE TABLE alternate (
    url UBIGINT, document UINTEGER,
    href VARCHAR,
    key VARCHAR,               -- key of href
    hreflang VARCHAR,          -- in lower case
    written VARCHAR,           -- the same as written
    media VARCHAR,
    file VARCHAR,              -- of the page that says so where the sitemap does not; '' on the network
    file_line UINTEGER
);

CREATE TABLE issue (
    code VARCHAR, severity VARCHAR, message VARCHAR,
    document UINTEGER, line UBIGINT, url VARCHAR, value VARCHAR
);                             -- the first ten of a code for each document
CREATE TABLE issue_count (
    code VARCHAR, severity VARCHAR, document UINTEGER, count UBIGINT
);                             -- all of them; without a document where it is not known

CREATE TABLE folder (
    document UINTEGER,
    prefix VARCHAR,            -- of the keys: origin and at most two folders
    urls UBIGINT
);
CREATE TABLE host (
    document UINTEGER, scheme VARCHAR, host VARCHAR, urls UBIGINT,
    hidden VARCHAR,            -- why nobody can reach it, or ''
    is_staging BOOLEAN         -- it may be reached, and is not meant to be
);
CREATE TABLE hreflang_link (   -- of alternate; page and target are hashes of their keys
    url UBIGINT, document UINTEGER, hreflang VARCHAR, page UBIGINT, target UBIGINT,
    place UBIGINT,             -- of the URL, in the order of documents
    file VARCHAR, file_line UINTEGER
);
CREATE TABLE language (
    code VARCHAR,              -- of an hreflang or of news, in lower case
    is_valid BOOLEAN,          -- as an hreflang
    hint VARCHAR,              -- what was meant, or ''
    is_language BOOLEAN        -- as the language of news
);
CREATE TABLE robots (
    origin VARCHAR,            -- whose robots.txt was read
    document UINTEGER,
    sitemaps UBIGINT,          -- Sitemap lines
    is_searched BOOLEAN        -- these were followed: it is that of the site
);
CREATE TABLE robots_hit (
    robot VARCHAR,
    kind VARCHAR,              -- url, image, sitemap, site
    url VARCHAR,
    document UINTEGER
);
CREATE TABLE cross_submit (
    host VARCHAR, document UINTEGER -- the host's own robots.txt lists the sitemap
);
CREATE TABLE known (
    loc VARCHAR, key VARCHAR   -- of --urls
);
CREATE TABLE old (
    loc VARCHAR, key VARCHAR   -- of --was
);
CREATE TABLE crawled (         -- what --urls says that pages answered
    loc VARCHAR, key VARCHAR, status USMALLINT, redirect VARCHAR, redirect_key VARCHAR,
    canonical VARCHAR, canonical_key VARCHAR, is_noindex BOOLEAN,
    is_blocked BOOLEAN,        -- by robots.txt, so that it was not asked for
    is_html BOOLEAN, is_indexable BOOLEAN
);
CREATE TABLE old_crawled AS FROM crawled;   -- what --was says of them
CREATE TABLE old_target (      -- where --was wants them to lead
    key VARCHAR, new VARCHAR, new_key VARCHAR,
    other VARCHAR, other_key VARCHAR   -- another place, if the list says two; else the same
);
CREATE TABLE baseline (
    code VARCHAR, subject VARCHAR                -- of a known hit: see subject_of
);
CREATE TABLE baseline_count (
    code VARCHAR, document VARCHAR, hits UBIGINT -- of a sitemap whose hits have no names
);

CREATE SCHEMA rule;            -- a view for each rule that was run, by its code, with all its hits
CREATE TYPE grade AS ENUM ('info', 'warning', 'error');
CREATE TABLE ignored (         -- URLs whose hits of a rule do not count
    code VARCHAR, url VARCHAR
);
CREATE TABLE place (           -- what a rule hit in one document
    code VARCHAR, document UINTEGER, count UBIGINT,
    severity grade,            -- the gravest, where it is not that of the rule
    line UBIGINT,
    first STRUCT(              -- hits
        url VARCHAR, detail VARCHAR, document UINTEGER, line UBIGINT,
        file VARCHAR, file_line UBIGINT
    )[]
);

-- Parts of lists: /page/2/, /blog/page2.html, /seite-2/, /index2.html, /2026/, /2026/11/
CREATE MACRO is_numbered_path(path) AS regexp_matches(lower(path),
    '/(pages?|index|seite|pagina|strona)[/_-]?[0-9]{1,4}(/|/index\.html?|\.html?)?$'
    || '|/(19|20)[0-9][0-9](/[0-9][0-9]?){0,2}(/|/index\.html?|\.html?)?$');
-- The name of a page, which hosts show with and without the suffix of its file.
CREATE MACRO bare_page(key) AS regexp_replace(key, '(/|/index\.html?|\.html?)$', '');
-- Lists of pages by date, word or author.
CREATE MACRO is_archive_path(path) AS regexp_matches(lower(path),
    '/(archives?|tags?|categor(y|ies)|authors?)(/.*|-[^/]*|\.html?)?$');

CREATE TABLE page (            -- a row a visit
    loc VARCHAR, key VARCHAR,  -- of --pages
    is_listed BOOLEAN DEFAULT false,        -- in a sitemap
    is_old BOOLEAN DEFAULT false,           -- of the old site
    is_named BOOLEAN DEFAULT false,         -- only by a visited page, as canonical or as a version
    file VARCHAR,              -- of a built folder; '' on the network
    may_redirect BOOLEAN,      -- to the same with a slash at its end, on most hosts
    final_url VARCHAR, final_key VARCHAR,   -- after redirects
    status USMALLINT, error VARCHAR,
    not_judged VARCHAR,        -- why its answer says nothing about the page; NULL if it does
    statuses VARCHAR,          -- of the redirects: '301 302'
    chain VARCHAR,             -- the same with their targets: '301 to A, 302 to B'
    is_temporary BOOLEAN,      -- all of them
    switches_language BOOLEAN, -- they only add or swap a segment that is a language
    leads_to_login BOOLEAN,
    differs_by VARCHAR,        -- https, www, slash, case: nothing else differs after redirects
    seconds DOUBLE,            -- to the first byte
    is_html BOOLEAN,
    title VARCHAR,
    is_noindex BOOLEAN,        -- for all robots, or an audited one
    noindex VARCHAR,           -- what says so: 'meta robots: noindex', 'X-Robots-Tag: noindex'
    is_hidden BOOLEAN,         -- the same, if it is not that of a whole site, such as a staging host
    canonical VARCHAR, canonical_key VARCHAR,   -- the first that is another page, or the first
    canonicals UTINYINT,       -- how many different ones
    canonical_differs_by VARCHAR,
    refresh_seconds UINTEGER, refresh_url VARCHAR, refresh_key VARCHAR,
    modified TIMESTAMP,        -- as the page itself says
    text_hash VARCHAR,         -- of its text; its version, "-", and the hash
    template_hash VARCHAR,     -- the same without its own address
    says_missing BOOLEAN,      -- in words
    missing_words VARCHAR,     -- these, of a short text
    is_notice BOOLEAN,         -- a sentence about the page says so, and little else is there
    shows VARCHAR,             -- something, scripts, nothing
    noindex_line UINTEGER, canonical_line UINTEGER,         -- of its source; NULL for headers
    refresh_line UINTEGER, alternate_line UINTEGER,
    url UBIGINT,               -- the number of its row
    document UINTEGER,         -- the first that lists it
    lastmod TIMESTAMP,         -- the oldest that sitemaps say
    is_indexed BOOLEAN,        -- listed, visited, and neither its answer nor itself says otherwise
    is_soft_404 BOOLEAN,       -- it answers as a made-up path does
    is_empty BOOLEAN,          -- it shows nothing, and browsers do not build the pages of its site
    fault VARCHAR,             -- the one rule about its answer that it hits, if it is listed
    canonical_fault VARCHAR,   -- the one rule about its canonical that it hits, if it is listed
    fate VARCHAR               -- the one rule about what became of it, if it is old
);
CREATE VIEW page_response AS   -- what a listed page is judged by
SELECT rowid AS page, coalesce(status, 0) AS status, error <> '' AS has_failed,
       coalesce(leads_to_login, false) AS leads_to_login, coalesce(is_soft_404, false) AS is_soft_404,
       final_key <> key OR coalesce(refresh_seconds <= 5, false) AS leads_on,
       coalesce(is_empty, false) AS is_empty
FROM page WHERE is_listed AND not_judged IS NULL;
CREATE TABLE target (          -- pages that others may name
    key VARCHAR, why VARCHAR   -- why that is wrong; NULL if it is not
);
CREATE TABLE canonical_hit (   -- pages with another canonical page, and the rule that says so
    code VARCHAR, url VARCHAR, detail VARCHAR, document UINTEGER, file VARCHAR, file_line UINTEGER
);
CREATE TABLE unlisted (        -- pages of a built folder that may be indexed, and that no sitemap lists
    loc VARCHAR, file VARCHAR, is_archive BOOLEAN
);
CREATE TABLE page_alternate (
    page VARCHAR,              -- key
    hreflang VARCHAR,          -- in lower case
    written VARCHAR,           -- the same as written
    key VARCHAR,               -- of the other version
    line UINTEGER              -- of its source; NULL for headers
);
CREATE VIEW alternate_hit AS   -- links to versions that are not indexed, and the rule that says so
WITH named AS (
    SELECT a.url, a.key, a.href, NULL AS file, NULL AS file_line
    FROM alternate a WHERE a.hreflang IS NOT NULL AND a.file IS NULL
    UNION ALL
    SELECT p.url, a.key, a.key AS href, nullif(p.file, '') AS file, a.line AS file_line
    FROM page p JOIN page_alternate a ON a.page = p.key WHERE p.is_indexed
)
SELECT CASE WHEN regexp_matches(t.why, '^(returns|is) ') THEN 'hreflang-target-broken'
            ELSE 'hreflang-target-not-indexed' END AS code,
       page.loc AS url, min(n.href || ' ' || t.why) AS detail, page.document, min(n.file) AS file,
       min(n.file_line) AS file_line
FROM named n JOIN target t ON t.key = n.key AND t.why IS NOT NULL
JOIN url page ON page.id = n.url AND page.key <> n.key
GROUP BY t.why, page.id, page.loc, page.document, n.key;
CREATE TABLE earlier (         -- pages of --since-audit
    key VARCHAR, lastmod TIMESTAMP, text_hash VARCHAR
);
CREATE TABLE unnamed (         -- sitemaps of a built folder that nothing names
    url VARCHAR, pages UBIGINT -- that no other lists
);
CREATE TABLE stand_in (        -- one row if the site itself is requested from another host
    url VARCHAR, host VARCHAR, target VARCHAR
);
CREATE TABLE built (           -- one row if the source is a built folder
    base_url VARCHAR, base_key VARCHAR,     -- its URL on the site
    fitting_url VARCHAR,       -- the URL that fits the listed ones, if none is below base_url
    may_answer_more BOOLEAN, answers_all BOOLEAN,
    is_whole BOOLEAN           -- the site, and not a folder of it
);
CREATE TABLE sample (
    is_old BOOLEAN,            -- of the old site, else of the sitemaps
    url UBIGINT,               -- number of its row, there
    loc VARCHAR, key VARCHAR, stratum UINTEGER,
    size UBIGINT,              -- pages of its stratum
    turn UBIGINT               -- of its visit
);
