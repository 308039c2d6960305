-- The tables of a page file: what an index knows of the pages of sites.

CREATE TABLE site (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    validators INTEGER NOT NULL DEFAULT 0, -- 1: they were seen to tell of a change; -1: to hide one
    is_filled INTEGER NOT NULL DEFAULT 0   -- whether a run has met all pages
);

-- `PageRecord` says what is in the columns.
CREATE TABLE page (
    site INTEGER NOT NULL,
    url TEXT NOT NULL,
    lastmod TEXT,
    is_listed INTEGER NOT NULL,
    text_hash TEXT,
    source TEXT,
    etag TEXT,
    last_modified TEXT,
    markdown_url TEXT,
    same_text INTEGER NOT NULL,
    checked_at REAL,
    read_at REAL,
    failed_at REAL,
    gone_at REAL,
    gone_to TEXT,
    next_try REAL,
    PRIMARY KEY (site, url)
) WITHOUT ROWID;
