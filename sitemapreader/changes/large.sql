-- Whether work on all rows of a site takes more than some milliseconds: a thousand sites for which
-- it does not would take longer in threads.
SELECT max((SELECT count(*) FROM document WHERE site = its.id) > 500
    OR (SELECT count(*) FROM log WHERE site = its.id) > 10
    OR EXISTS (SELECT 1 FROM url WHERE site = its.id LIMIT 1 OFFSET 5000))
FROM site AS its WHERE name = ?
