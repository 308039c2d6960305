-- Rows of Arrow, which are in `arriving`, on their way into the tables. A line `-- name:` begins a query.

-- define_simple: URLs in which no rule about characters or parameters can find anything
CREATE TEMP MACRO is_simple_url(loc) AS regexp_matches(loc, {})

-- define_keys: nine of ten URLs are simple or in normal form, which is seen in a tenth of the time that
-- a key takes; a key keeps escapes of bytes beyond ASCII
CREATE TEMP MACRO other_key(loc) AS CASE
    WHEN is_simple_url(loc) THEN NULL
    WHEN regexp_matches(regexp_replace(loc, '%[89A-F][0-9A-F]', '_', 'g'), {})
        AND NOT contains(loc, '/.') THEN NULL
    ELSE nullif(url_key(loc), loc) END

-- define_first_folder:
CREATE MACRO first_folder(key) AS regexp_extract(key, {})

-- define_error_path:
CREATE MACRO is_error_path(path) AS regexp_matches(path, {})

-- define_key_of:
CREATE TEMP MACRO key_of(loc) AS coalesce(other_key(loc), loc)

-- define_utc: to cast a time with a zone would take the zone of this machine
CREATE TEMP MACRO in_utc(moment) AS make_timestamp(epoch_us(moment))

-- insert_urls:
INSERT INTO url_row BY NAME
SELECT id, document, loc, other_key(loc) AS other_key, is_simple_url(loc) AS is_simple,
       in_utc(lastmod) AS lastmod, lastmod_text, changefreq, priority
FROM arriving

-- insert_images:
INSERT INTO image BY NAME
SELECT id AS url, document, i.loc, i.title, i.caption, i.geo_location, i.license
FROM (SELECT id, document, unnest(images) AS i FROM arriving)

-- insert_videos:
INSERT INTO video BY NAME
SELECT id AS url, document, v.thumbnail_loc, v.title, v.description, v.content_loc, v.player_loc,
       in_utc(v.expiration_date) AS expiration_date, in_utc(v.publication_date) AS publication_date,
       v.duration
FROM (SELECT id, document, unnest(videos) AS v FROM arriving)

-- insert_news:
INSERT INTO news BY NAME
SELECT id AS url, document, news.name, news.language, news.title,
       in_utc(news.publication_date) AS publication_date
FROM arriving WHERE news IS NOT NULL

-- insert_alternates:
INSERT INTO alternate BY NAME
SELECT id AS url, document, a.href, key_of(a.href) AS key, lower(a.hreflang) AS hreflang,
       a.hreflang AS written, a.media
FROM (SELECT id, document, unnest(alternates) AS a FROM arriving)

-- describe_documents: what follows from the fields of documents
UPDATE document SET key = url_key(url), final_key = url_key(coalesce(nullif(final_url, ''), url)),
    is_http = $is_http AND final_url <> '', is_feed = coalesce(format IN ('rss', 'atom'), false),
    is_excused = status NOT IN ('complete', 'unchanged')
        AND (reason IN (SELECT unnest($about_us)) OR coalesce(http_status IN (401, 403, 407, 429), false)),
    rank = r.rank
FROM (SELECT id, row_number() OVER (ORDER BY url, role) AS rank FROM document) r
WHERE r.id = document.id

-- origins: those with most URLs and images
SELECT origin FROM (
    SELECT scheme || '://' || host AS origin FROM url
    UNION ALL
    SELECT regexp_extract(lower(loc), '^https?://[^/?#@]+') FROM image
) WHERE origin <> '' GROUP BY origin ORDER BY count(*) DESC, origin LIMIT $limit

-- rows: of all tables that grow with a site or with a list
SELECT sum(rows) FROM (
    SELECT count(*) AS rows FROM url_row UNION ALL SELECT count(*) FROM image
    UNION ALL SELECT count(*) FROM video UNION ALL SELECT count(*) FROM alternate
    UNION ALL SELECT count(*) FROM document UNION ALL SELECT count(*) FROM issue
    UNION ALL SELECT count(*) FROM known UNION ALL SELECT count(*) FROM old
    UNION ALL SELECT count(*) FROM baseline UNION ALL SELECT count(*) FROM earlier
    UNION ALL SELECT count(*) FROM page
)
