-- title: Unfilled templates
-- severity: error
-- unit: URLs
-- detects: A segment of the path that is the name of a parameter, as routers write it (`[slug]`,
--   `:id`, `{id}`); a warning where it is what programs write for a value that they do not have:
--   undefined, None, NaN, [object Object]. Records that were dropped because of `{{ ... }}` and
--   the like count too.
-- meaning: The program that writes the sitemap has listed its routes, or pages without a name.
-- advice: Let it list the pages of a route, and leave out those without a value.
-- source: https://www.sitemaps.org/protocol.html
WITH odd AS (
    SELECT loc, document, regexp_extract(
        replace(replace(replace(path, '%5B', '['), '%5D', ']'), '%20', ' '),
        '/(\[{1,2}(?:\.{3})?[A-Za-z_][\w-]*\]{1,2}\??|:[A-Za-z_]\w*\??|\{[A-Za-z_][\w-]*\}'
        || '|(?:%7B|%7b)[A-Za-z_][\w-]*(?:%7D|%7d)|undefined|None|NaN|\[object Object\])(?:/|$)', 1
    ) AS segment
    FROM url WHERE NOT is_simple OR contains(path, '/undefined')
)
SELECT loc AS url, segment AS detail, document,
       CASE WHEN segment IN ('undefined', 'None', 'NaN', '[object Object]') THEN 'warning'
            ELSE 'error' END AS severity
FROM odd WHERE segment <> ''
