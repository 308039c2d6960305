-- Temporary tables, emptied before or after each use. They are made once for a connection: with a
-- new table SQLite prepares all statements again.

CREATE TEMP TABLE reachable (url TEXT PRIMARY KEY, is_wanted INTEGER) WITHOUT ROWID;
CREATE TEMP TABLE merge_batch (document INTEGER PRIMARY KEY, run INTEGER, replaces INTEGER);
CREATE TEMP TABLE fresh (
    fingerprint BLOB, document INTEGER, PRIMARY KEY (fingerprint, document)
) WITHOUT ROWID;
CREATE TEMP TABLE old (
    fingerprint BLOB, document INTEGER, chunk INTEGER, i INTEGER, loc TEXT, run INTEGER,
    has_left INTEGER
);
CREATE TEMP TABLE doubted (document INTEGER PRIMARY KEY, since INTEGER, lost INTEGER, kept INTEGER);
CREATE TEMP TABLE judged (fingerprint BLOB, document INTEGER, loc TEXT);
