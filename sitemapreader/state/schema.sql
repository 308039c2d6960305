-- The tables of a state file. database.py adds a type check to each column, as STRICT does from
-- SQLite 3.37 on. A seal is a checksum over the values of a row that decide what is read: without
-- it, one flipped bit in a lastmod could make an unread document count as read.

CREATE TABLE site (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

CREATE TABLE run (
    id INTEGER PRIMARY KEY,     -- never used twice: see runs.py
    site INTEGER NOT NULL,
    options BLOB NOT NULL,      -- a hash: only a walk with the same ones resumes this one
    filters TEXT NOT NULL,      -- only a walk that passes no more resumes this one
    began REAL NOT NULL,
    ended REAL,
    complete INTEGER,
    removed INTEGER,            -- how many URLs were; NULL where that is not known
    seal INTEGER NOT NULL
);

CREATE TABLE document (
    id INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    url TEXT NOT NULL,          -- as `url_key` writes it
    status TEXT NOT NULL,
    reason TEXT NOT NULL,
    http_status INTEGER,
    seen_run INTEGER,           -- the run in which it had this status
    -- of the last reading
    read_run INTEGER,
    complete INTEGER NOT NULL,
    final_url TEXT NOT NULL,
    format TEXT,
    etag TEXT,
    last_modified TEXT,
    lastmod TEXT,               -- what its index said of it
    size INTEGER,
    digest BLOB,
    entries INTEGER NOT NULL,
    children INTEGER NOT NULL,
    read_at REAL,               -- when it was asked for, the time that the server vouches for it
    filters TEXT,               -- those that kept something of it back; NULL if nothing was
    -- of what it lists
    listed_run INTEGER,         -- whose chunks are the newest whole list
    -- what it may prove about removals: see removals.py
    first_run INTEGER NOT NULL, -- the run that met it first
    found_after INTEGER NOT NULL,   -- the run before that which had last read all indexes
    vouched_run INTEGER NOT NULL,   -- the last run that certainly knew all that it lists; or 0
    body_run INTEGER NOT NULL,  -- the last run that saw all its bytes; or 0
    format_run INTEGER NOT NULL,    -- the run that found it in another format than before; or 0
    window INTEGER NOT NULL,    -- 1: it lists recent items only; 2: it did at the reading before
    validators INTEGER NOT NULL,    -- 1: they changed with its bytes once; -1: they did not; or 0
    dates INTEGER NOT NULL,     -- the same of the lastmod in its index
    lastmods TEXT NOT NULL,     -- what those of its records look like: see `LastmodKind`; or ''
    seal INTEGER NOT NULL,
    merged_run INTEGER,         -- whose chunks are in `url_index`; repeated if it is not right
    sound_run INTEGER NOT NULL DEFAULT 0,   -- `vouched_run`, but for readings that are in doubt
    missed INTEGER NOT NULL DEFAULT 0,  -- runs since it was last known to its end
    dropped_run INTEGER,        -- the run that found it named by nothing; NULL if it is named
    unknown TEXT,               -- why the last run cannot tell its removals; NULL if it can
    UNIQUE (site, url)
);

-- the children that an index lists
CREATE TABLE child (
    document INTEGER PRIMARY KEY,
    listed TEXT NOT NULL,       -- JSON: an array of pairs, loc and lastmod
    seal INTEGER NOT NULL
);

-- how far a document was read that is not finished
CREATE TABLE progress (
    document INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    entries INTEGER NOT NULL,
    final_url TEXT NOT NULL,
    size INTEGER NOT NULL,
    digest BLOB NOT NULL,
    filters TEXT,               -- as in `document`
    seal INTEGER NOT NULL
);

-- what a document lists, in the chunks in which it was delivered
CREATE TABLE chunk (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL,
    run INTEGER NOT NULL,
    count INTEGER NOT NULL,
    fingerprints BLOB NOT NULL,        -- 16 bytes an entry: see url_index.py
    locs BLOB NOT NULL,         -- see `pack_locs`; each is checked with its fingerprint
    seal INTEGER NOT NULL       -- of all but locs
);
CREATE INDEX chunk_document ON chunk (document, run);

-- URLs that a run with `unique` delivered
CREATE TABLE delivered (
    id INTEGER PRIMARY KEY,
    run INTEGER NOT NULL,
    locs BLOB NOT NULL,
    seal INTEGER NOT NULL
);
CREATE INDEX delivered_run ON delivered (run);

-- the chunks up to `merged_run`, indexed by URL
CREATE TABLE url_index (
    site INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    document INTEGER NOT NULL,
    PRIMARY KEY (site, fingerprint, document)
) WITHOUT ROWID;

-- of these, what is no longer listed: see removals.py
CREATE TABLE gone (
    site INTEGER NOT NULL,
    fingerprint BLOB NOT NULL,
    document INTEGER NOT NULL,  -- negative if it is forgotten
    loc TEXT NOT NULL,
    run INTEGER NOT NULL,       -- that found it missing first
    has_left INTEGER NOT NULL,  -- it left a window, which is not a removal
    PRIMARY KEY (site, fingerprint, document)
) WITHOUT ROWID;

-- since when losses that seemed to be a fault are certain
CREATE TABLE confirmed (
    document INTEGER NOT NULL,
    run INTEGER NOT NULL,       -- that of the losses in `gone`
    since INTEGER NOT NULL,     -- the walk after which they were found again
    PRIMARY KEY (document, run)
) WITHOUT ROWID;

-- URLs that the last walk found to be removed
CREATE TABLE removed (
    site INTEGER NOT NULL,
    key BLOB NOT NULL,          -- of the URL, as in a fingerprint
    loc TEXT NOT NULL
);
CREATE INDEX removed_site ON removed (site);

-- so that a walk looks through its own site's runs, not through those of all sites
CREATE INDEX run_site ON run (site);
