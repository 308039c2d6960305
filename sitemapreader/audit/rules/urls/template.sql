-- title: Unfilled templates
-- severity: error
-- unit: URLs
-- detects: A segment of the path is the name of a parameter, as routers write it (`[slug]`, `:id`,
--   `{id}`). A warning where it is a placeholder for a missing value: undefined, None, NaN, [object
--   Object]. Records that were dropped because of `{{ ... }}` and similar templates count too.
-- meaning: The generator of the sitemap lists its routes, or pages without a name.
-- advice: List the pages of each route, and leave out pages without a value.
-- source: https://www.sitemaps.org/protocol.html
WITH odd AS (
    SELECT loc, document, regexp_extract(
        replace(replace(replace(path, '%5B', '['), '%5D', ']'), '%20', ' '),
        '/(\[{1,2}(?:\.{3})?[A-Za-z_][\w-]*\]{1,2}\??|:[A-Za-z_]\w*\??|\{[A-Za-z_][\w-]*\}'
        || '|(?:%7B|%7b)[A-Za-z_][\w-]*(?:%7D|%7d)|undefined|None|NaN|\[object Object\])(?:/|$)', 1
    ) AS segment
    FROM (
        SELECT loc, document, path FROM unusual_url
        UNION ALL
        SELECT loc, document, path FROM url WHERE is_simple AND contains(loc, '/undefined')
    )
)
SELECT loc AS url, segment AS detail, document,
       CASE WHEN segment IN ('undefined', 'None', 'NaN', '[object Object]') THEN 'warning'
            ELSE 'error' END AS severity
FROM odd WHERE segment <> ''
