-- Temporary tables, emptied before each use; made once for a connection.

CREATE TEMP TABLE reachable (url TEXT PRIMARY KEY, is_wanted INTEGER) WITHOUT ROWID;
CREATE TEMP TABLE confirmed_loss (
    key BLOB, document INTEGER, loc TEXT, lost_stamp INTEGER, kind INTEGER);
