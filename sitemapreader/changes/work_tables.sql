-- Temporary tables, emptied before each use; made once for a connection.

CREATE TEMP TABLE reachable (url TEXT PRIMARY KEY, is_wanted INTEGER) WITHOUT ROWID;
CREATE TEMP TABLE confirmed_loss (
    key BLOB, document INTEGER, loc TEXT, lost_stamp INTEGER, kind INTEGER);
CREATE TEMP TABLE unseen (key BLOB, document INTEGER, stretch INTEGER);
CREATE TEMP TABLE place (number INTEGER PRIMARY KEY);  -- of an entry in a stretch
INSERT INTO place
WITH RECURSIVE of_stretch AS (SELECT 0 AS number UNION ALL SELECT number + 1 FROM of_stretch LIMIT 500)
SELECT number FROM of_stretch;
