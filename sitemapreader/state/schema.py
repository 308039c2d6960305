"""The tables of a state file, step by step from the first version on."""

from __future__ import annotations

import sqlite3
from contextlib import closing

APPLICATION_ID = 0x534D5244
"""`SMRD`, in the header of each file of ours (https://www.sqlite.org/fileformat.html, 1.3.12)."""

_FIRST = """
CREATE TABLE site (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

CREATE TABLE run (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    site INTEGER NOT NULL,
    options BLOB NOT NULL,      -- a hash: only a walk with the same ones goes on with this one
    began REAL NOT NULL,
    ended REAL,
    complete INTEGER,
    removed INTEGER             -- how many URLs were; NULL where that is not known
);

CREATE TABLE document (
    id INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    url TEXT NOT NULL,          -- as `url_key` writes it
    status TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    http_status INTEGER,
    seen_run INTEGER,           -- the run in which it had this status
    -- of the last reading
    read_run INTEGER,
    complete INTEGER NOT NULL DEFAULT 0,
    final_url TEXT NOT NULL DEFAULT '',
    format TEXT,
    etag TEXT,
    last_modified TEXT,
    lastmod TEXT,               -- what its index said of it
    size INTEGER,
    digest BLOB,
    entries INTEGER NOT NULL DEFAULT 0,
    children INTEGER NOT NULL DEFAULT 0,
    read_at REAL,               -- when it was asked for, the time that the server vouches for it
    -- of what it lists
    listed_run INTEGER,         -- whose chunks are the newest whole list
    merged_run INTEGER,         -- whose chunks are in `listing`
    UNIQUE (site, url)
);

CREATE TABLE child (
    document INTEGER NOT NULL,
    position INTEGER NOT NULL,
    loc TEXT NOT NULL,
    lastmod TEXT,
    PRIMARY KEY (document, position)
) WITHOUT ROWID;

-- how far a document came that is being read
CREATE TABLE progress (
    document INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    final_url TEXT NOT NULL,
    size INTEGER NOT NULL,
    digest BLOB NOT NULL
);

-- what a document lists, in the order and the portions in which it was handed over
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    run INTEGER NOT NULL,
    count INTEGER NOT NULL,
    marks BLOB NOT NULL,        -- 16 bytes an entry: see marks.py
    locs BLOB NOT NULL          -- see `pack_locs`
);
CREATE INDEX chunk_document ON chunk (document, run);

-- which URLs were handed over by a run that wants each once
CREATE TABLE delivered (run INTEGER NOT NULL, locs BLOB NOT NULL);
CREATE INDEX delivered_run ON delivered (run);

-- the same as the chunks up to `merged_run`, to be asked by URL
CREATE TABLE listing (
    site INTEGER NOT NULL,
    mark BLOB NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (site, mark, document)
) WITHOUT ROWID;

-- of these, what is listed no more; settled by the next complete walk
CREATE TABLE gone (
    site INTEGER NOT NULL,
    mark BLOB NOT NULL,
    document INTEGER NOT NULL,
    loc TEXT NOT NULL,
    PRIMARY KEY (site, mark, document)
) WITHOUT ROWID;

-- what the last complete walk found to be gone
CREATE TABLE removed (site INTEGER NOT NULL, loc TEXT NOT NULL);
CREATE INDEX removed_site ON removed (site);
"""

STEPS = (_FIRST,)
"""What makes each version of the one before; `user_version` counts the steps that were taken."""


def is_whole(connection: sqlite3.Connection) -> bool:
    """Tell whether all the tables are there."""
    with closing(sqlite3.connect(":memory:")) as model:
        model.executescript("".join(STEPS))
        return _tables(connection) >= _tables(model)


def _tables(connection: sqlite3.Connection) -> set[tuple[str]]:
    return set(connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'"))


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the tables up to date, in one transaction."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version == len(STEPS):
        return
    script = "".join(STEPS[version:])
    connection.executescript(
        f"BEGIN IMMEDIATE;\n{script}\n"
        f"PRAGMA application_id = {APPLICATION_ID};\nPRAGMA user_version = {len(STEPS)};\nCOMMIT;"
    )
