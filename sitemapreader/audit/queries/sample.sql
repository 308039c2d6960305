-- draw: the gaps are for candidates, and for the table of their URLs
-- The pages to visit: $number of them, or all if there are no more, in strata of sitemap and folder.
-- Which pages of a stratum are chosen depends on $seed and their keys alone, so the next audit of the
-- site visits the same ones, and a few new ones in the place of those that are gone.
INSERT INTO sample
WITH page AS MATERIALIZED (
    {0}
), cell AS (
    SELECT sitemap, folder, count(*) AS size FROM page GROUP BY sitemap, folder
), total AS (
    SELECT sum(size) AS size FROM cell
), named AS (                  -- cells with less than two pages of the sample are joined by sitemap
    SELECT c.*, CASE WHEN c.size * $number < 2 * t.size THEN '' ELSE folder END AS part
    FROM cell c, total t
), joined AS (                 -- and what is too small even then is one rest
    SELECT n.*, CASE WHEN sum(n.size) OVER (PARTITION BY sitemap, part) * $number < 2 * t.size
                     THEN -1 ELSE sitemap END AS home
    FROM named n, total t
), strata AS (
    SELECT home, CASE WHEN home = -1 THEN '' ELSE part END AS part, sum(size) AS size
    FROM joined GROUP BY ALL
), shares AS (                 -- largest remainders
    SELECT s.home, s.part, s.size, s.size * least($number, t.size) / t.size AS share,
           row_number() OVER (
               ORDER BY share - floor(share) DESC, s.size DESC, s.home, s.part
           ) AS turn
    FROM strata s, total t
), stratum AS (
    SELECT row_number() OVER (ORDER BY home, part) AS stratum, home, part, size,
           floor(share) + (turn <= least($number, (SELECT size FROM total))
                                   - (SELECT sum(floor(share)) FROM shares))::INTEGER AS number
    FROM shares
), ranked AS (
    SELECT p.id, s.stratum, s.size, s.number, p.draw,
           row_number() OVER (PARTITION BY s.stratum ORDER BY p.draw) AS rank
    FROM page p
    JOIN joined j ON j.sitemap = p.sitemap AND j.folder = p.folder
    JOIN stratum s ON s.home = j.home AND s.part = CASE WHEN j.home = -1 THEN '' ELSE j.part END
)
SELECT $is_old AS is_old, r.id AS url, u.loc, u.key, r.stratum::UINTEGER AS stratum,
       r.size::UBIGINT AS size,
       row_number() OVER (ORDER BY (r.rank - 0.5) / r.number, r.draw) AS turn
FROM ranked r JOIN {1} u ON u.id = r.id
WHERE r.rank <= r.number

-- listed: a page that is listed twice belongs to the first sitemap, by its URL
SELECT u.id, l.draw, (l.place >> 32)::BIGINT AS sitemap, first_folder(u.key) AS folder
FROM (
    SELECT md5_number_lower($seed || u.key) AS draw, min(place_of(d.rank, u.id)) AS place
    FROM url u JOIN document d ON d.id = u.document
    GROUP BY draw
) l JOIN url u ON u.id = l.place & 4294967295

-- old:
SELECT rowid AS id, md5_number_lower($seed || key) AS draw, 0::BIGINT AS sitemap,
       first_folder(key) AS folder
FROM old
