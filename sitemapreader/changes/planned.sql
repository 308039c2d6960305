-- What each document that is scheduled waits for; a query follows. See schedule.py.
-- A wait of more than 32 days was written under another clock.

WITH chosen AS (
    SELECT site.id, name, site.lost_stamp AS oldest_loss, total(rate) AS total
    FROM site CROSS JOIN document ON document.site = site.id
    WHERE name IN (SELECT value FROM json_each(:names))
    GROUP BY site.id
),
observed AS (
    SELECT document.*, total, name, oldest_loss,
        iif(asked_at > :now, 24, (:now - asked_at) / 3600.0) AS waited,
        iif(asked_at > :now, 0, asked_at + 600) AS rested
    FROM chosen CROSS JOIN document ON document.site = chosen.id
    WHERE rate > 0
),
planned AS (
    SELECT url, name, rate, asked_at,
        max(:now, rested, iif(not_before > :now + 32 * 86400, 0, not_before)) AS due,
        -- its square, because not every SQLite knows roots
        rate * rate * waited * waited * waited * waited / total AS waiting,
        -- a missing URL waits for it: it was not requested since, or a day ago for the first time
        confirmed_stamp < oldest_loss AND asked_at < max(oldest_loss / 1e9, :now - 82800) AS is_awaited
    FROM observed
)
