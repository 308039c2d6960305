-- The tables of a state file. Numbers of runs are nanoseconds since 1970 when the clock is right, and
-- only ever grow within a site.

CREATE TABLE site (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- its last walk
    run INTEGER NOT NULL DEFAULT 0,
    began REAL,
    ended REAL,                 -- NULL while it can be resumed
    complete INTEGER,           -- 0 in one that a limit of URLs stopped
    unlisted INTEGER,           -- how many URLs became so; NULL where that is not known
    waiting INTEGER,            -- how many may become so later; or NULL
    -- the last walk that asked all that names documents; then as in `document`
    looked_run INTEGER NOT NULL DEFAULT 0,
    candidate_run INTEGER NOT NULL DEFAULT 0,
    proven_run INTEGER NOT NULL DEFAULT 0,
    lost_run INTEGER NOT NULL DEFAULT 0,    -- its oldest loss that is not judged; 0 for none
    rest REAL NOT NULL DEFAULT 0            -- seconds for which nothing is due after `ended`
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
    is_saved INTEGER NOT NULL DEFAULT 0,  -- whether `url` and `log` have what it listed
    final_url TEXT NOT NULL DEFAULT '',
    format TEXT,
    etag TEXT,
    last_modified TEXT,
    lastmod TEXT,               -- what its index said of it
    size INTEGER,
    digest BLOB,
    entries INTEGER NOT NULL DEFAULT 0,
    children INTEGER NOT NULL DEFAULT 0,
    child_list TEXT CHECK (child_list IS NULL OR json_valid(child_list)), -- pairs, loc and lastmod
    read_at REAL,               -- when it was asked for, the time that the server vouches for it
    filters TEXT,               -- those that kept something of it back; NULL if nothing was
    window INTEGER NOT NULL DEFAULT 0,    -- whether it lists recent items only
    validators INTEGER NOT NULL DEFAULT 0,    -- 1: they changed with its bytes once; -1: they did not; or 0
    dates INTEGER NOT NULL DEFAULT 0,     -- the same of the lastmod in its index
    -- what it proves about URLs that are missing: see law.py
    first_run INTEGER NOT NULL, -- the run that met it first
    body_run INTEGER NOT NULL DEFAULT 0,  -- the last run that saw all its bytes; or 0
    vouched_run INTEGER NOT NULL DEFAULT 0,   -- the last run that certainly knew all that it lists; or 0
    candidate_run INTEGER NOT NULL DEFAULT 0, -- one of these, which the next one a day later proves
    proven_run INTEGER NOT NULL,    -- what it did not list then and a day later it does not list
    listed_run INTEGER,         -- the last run that read all of it and saved that
    merged_run INTEGER,         -- the same, of the rows in `url`
    missed INTEGER NOT NULL DEFAULT 0,    -- runs since it was last known to its end
    dropped_run INTEGER,        -- the run that found it named by nothing; NULL if it is named
    -- when to come back, in seconds: see schedule.py
    asked_at REAL,              -- when it last answered; NULL before its first turn
    found_at REAL,              -- when it last had news
    news REAL NOT NULL DEFAULT 0,
    hours REAL NOT NULL DEFAULT 0,        -- for which it was observed
    rate REAL NOT NULL DEFAULT 0,         -- of news an hour; 0 for a page of a feed, which follows the feed
    not_before REAL NOT NULL DEFAULT 0,
    UNIQUE (site, url)
);

-- which document lists which URL
CREATE TABLE url (
    site INTEGER NOT NULL,
    key BLOB NOT NULL,          -- a hash of the URL
    document INTEGER NOT NULL,
    record BLOB,                -- a hash of the record that was delivered; NULL: none ever; '': another
    loc TEXT NOT NULL,
    seen_run INTEGER NOT NULL,
    window INTEGER NOT NULL,    -- 1: it may leave, and is not unlisted for that; 2: it was deleted
    lost_run INTEGER,           -- the first reading without it since; NULL while it is listed
    PRIMARY KEY (site, key, document)
) WITHOUT ROWID;
CREATE INDEX url_lost ON url (site, lost_run) WHERE lost_run IS NOT NULL;

-- what documents listed, in the order in which it was acknowledged, until `url` has it: each row has
-- up to 500 records, because a row and an index entry for each would be the most of the cost
CREATE TABLE log (
    id INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    document INTEGER NOT NULL,
    run INTEGER NOT NULL,
    keys BLOB NOT NULL,
    records BLOB NOT NULL,
    locs BLOB NOT NULL,         -- JSON: an array; compressed
    marks BLOB NOT NULL         -- a letter each: s, it was sent with this record, now or before; o, it
                                -- was sent with another one; u, it never was; capital: it may leave;
                                -- d, its record says that it was deleted; n, and it was not known
);
CREATE INDEX log_site ON log (site);

-- what a walk without `changes` has delivered of documents that it has not finished; with `unique`,
-- of all, until it ends
CREATE TABLE batch (
    site INTEGER NOT NULL,
    document INTEGER NOT NULL,
    keys BLOB NOT NULL,         -- one after another, as in `log`
    locs BLOB                   -- with `unique`, the URLs; JSON: an array; compressed
);
CREATE INDEX batch_site ON batch (site, document);

-- answers that rounds use for a day: robots.txt, start pages, guesses that fail
CREATE TABLE kept (
    site INTEGER NOT NULL,
    url TEXT NOT NULL,          -- as `url_key` writes it
    run INTEGER NOT NULL,       -- in which it was asked for
    asked_at REAL NOT NULL,
    status INTEGER NOT NULL,
    final_url TEXT NOT NULL,
    headers TEXT NOT NULL,      -- JSON: an object
    body BLOB NOT NULL,         -- compressed
    PRIMARY KEY (site, url)
);

-- URLs that became unlisted, and what their pages answered
CREATE TABLE page (
    site INTEGER NOT NULL,
    key BLOB NOT NULL,
    loc TEXT NOT NULL,
    since REAL NOT NULL,        -- all moments are in seconds
    document TEXT NOT NULL,     -- the URL of the last one that listed it
    why TEXT NOT NULL,          -- missing, unnamed or deleted
    status INTEGER,             -- what the page answered last; NULL before, and for no answer
    asked_at REAL,
    due REAL,                   -- when to ask it again; NULL once it is gone
    tries INTEGER NOT NULL DEFAULT 0,
    told_unlisted INTEGER NOT NULL DEFAULT 0,
    told_gone INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (site, key)
) WITHOUT ROWID;
CREATE INDEX page_due ON page (site, due) WHERE due IS NOT NULL;
