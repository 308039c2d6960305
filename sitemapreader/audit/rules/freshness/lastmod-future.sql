-- title: lastmod lies in the future
-- severity: error
-- unit: URLs
-- detects: lastmod is more than `future_hours` after now, which leaves room for time zones.
-- meaning: Search engines refuse such dates, and doubt the others.
-- advice: Never write a date after now; check scheduled posts.
-- source: https://blogs.bing.com/webmaster/february-2023/The-Importance-of-Setting-the-lastmod-Tag-in-Your-Sitemap
SELECT loc AS url, lastmod_text AS detail, document
FROM url
WHERE lastmod > $now + to_hours($future_hours)
