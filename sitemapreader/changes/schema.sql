-- The tables of a state file. A stamp is the date of a walk or of a reading, in nanoseconds since 1970
-- when the clock is right; stamps only ever grow within a site. All other times are in seconds.

CREATE TABLE site (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- its last walk
    begin_stamp INTEGER NOT NULL DEFAULT 0,
    began REAL,
    ended REAL,                 -- NULL while it can be resumed
    complete INTEGER,           -- 0 in one that a limit stopped
    unlisted INTEGER,           -- how many URLs became so in it; NULL where that is not known
    waiting INTEGER,            -- how many may become so later; or NULL
    -- what names its documents (robots.txt, guesses, the start page): as the columns of a document
    read_stamp INTEGER NOT NULL DEFAULT 0,
    confirmed_stamp INTEGER NOT NULL DEFAULT 0,
    last_flaws INTEGER NOT NULL DEFAULT 0,
    known_flaws INTEGER NOT NULL DEFAULT 0,
    flawed_stamp INTEGER NOT NULL DEFAULT 0,
    missed INTEGER NOT NULL DEFAULT 0,      -- in how many runs that was not known since
    looked_stamp INTEGER NOT NULL DEFAULT 0,  -- `all_known_stamp`: the last run that knew all documents
    lost_stamp INTEGER NOT NULL DEFAULT 0,    -- the oldest `url.lost_stamp` that waits; 0 for none
    confirm_after INTEGER NOT NULL DEFAULT 0,  -- by which its last run compares two readings
    days TEXT NOT NULL DEFAULT '[]',        -- its last seven runs that are a day apart; JSON: an array
    rest REAL NOT NULL DEFAULT 0            -- seconds for which nothing is due after `ended`
);

CREATE TABLE document (
    id INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    url TEXT NOT NULL,          -- as `url_key` writes it
    origin TEXT NOT NULL DEFAULT '',      -- scheme, host and port of the first URL that it listed
    -- of its last outcome
    status TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT '',
    http_status INTEGER,
    evidence TEXT NOT NULL DEFAULT '',    -- what that proves: see law.py
    -- the four dates of the law: see law.py
    seen_stamp INTEGER NOT NULL DEFAULT 0,  -- the last outcome
    read_stamp INTEGER NOT NULL DEFAULT 0,  -- a full reading, which one a day later confirms
    confirmed_stamp INTEGER NOT NULL,       -- the last reading that was confirmed
    unknown_stamp INTEGER,      -- since when it cannot be read, or nothing names it; else NULL
    missed INTEGER NOT NULL DEFAULT 0,    -- in how many runs it could not be read since then
    is_named INTEGER NOT NULL DEFAULT 1,
    -- of its last reading
    complete INTEGER NOT NULL DEFAULT 0,
    is_saved INTEGER NOT NULL DEFAULT 0,  -- whether `url` and `log` have what it listed
    reading_to_merge INTEGER NOT NULL DEFAULT 0,  -- the date of its last reading, by which merge.sql
                                -- finds what it has lost; negative: of its first one, which can
                                -- have lost nothing; 0: it is merged
    final_url TEXT NOT NULL DEFAULT '',
    format TEXT,
    etag TEXT,
    last_modified TEXT,
    lastmod TEXT,               -- what its index said of it, if that tells of changes
    size INTEGER,
    digest BLOB,                -- NULL if it was never read
    entries INTEGER NOT NULL DEFAULT 0,
    last_flaws INTEGER NOT NULL DEFAULT 0,   -- records whose URL was lost or repaired
    known_flaws INTEGER NOT NULL DEFAULT 0,  -- the same, in its last full reading
    flawed_stamp INTEGER NOT NULL DEFAULT 0, -- since when it has more than that; else 0
    children INTEGER NOT NULL DEFAULT 0,
    child_list TEXT CHECK (child_list IS NULL OR json_valid(child_list)), -- pairs, loc and lastmod
    read_at REAL,               -- time at which the server generated it, in seconds
    filters TEXT,               -- filters that excluded entries; NULL if none did
    is_window INTEGER NOT NULL DEFAULT 0, -- whether it lists recent items only
    -- 1: they stayed the same once although its bytes changed
    etag_lies INTEGER NOT NULL DEFAULT 0,
    lastmod_lies INTEGER NOT NULL DEFAULT 0,
    -- when to come back, in seconds: see schedule.py
    asked_at REAL,              -- when it last responded, or was first requested; else NULL
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
    record BLOB,                -- hashes of its records that were delivered, one after another;
                                -- NULL: none ever; '': another; with x'00' at the end, `unique`
                                -- has withheld it because of another spelling
    loc TEXT NOT NULL,          -- from its path on, if the rest is the `origin` of the document
    seen_stamp INTEGER,         -- the last reading that had it, if that of its stretch is not later
    kind INTEGER NOT NULL,      -- see `UrlKind` in database.py
    lost_stamp INTEGER,           -- the first reading without it since; NULL while it is listed
    stretch INTEGER NOT NULL,
    PRIMARY KEY (site, key, document)
) WITHOUT ROWID;
CREATE INDEX url_lost ON url (site, kind, lost_stamp) WHERE lost_stamp IS NOT NULL;
CREATE INDEX url_unsent ON url (site) WHERE lost_stamp IS NOT NULL AND record IS NULL;

-- entries of a document that follow one another. If a reading has the same again, and all of them
-- are known, then no row of `url` is read or written for them
CREATE TABLE stretch (
    id INTEGER PRIMARY KEY,     -- 1000 times that of its row of `log`, plus its place there
    document INTEGER NOT NULL,
    seen_stamp INTEGER NOT NULL,  -- the last reading that had it
    is_known INTEGER NOT NULL,  -- 1 if each entry is in `url` with this record, was delivered, and
                                -- is not of a window
    keys BLOB NOT NULL,         -- as in `log`
    records BLOB NOT NULL
);
CREATE INDEX stretch_begin ON stretch (document, substr(keys, 1, 10));
CREATE TRIGGER url_moved AFTER UPDATE OF stretch ON url WHEN old.stretch <> new.stretch
BEGIN
    UPDATE stretch SET is_known = 0 WHERE id = old.stretch AND is_known;
END;
CREATE TRIGGER url_differs AFTER UPDATE OF record, lost_stamp, stretch ON url
WHEN new.lost_stamp IS NOT NULL OR length(new.record) IS NOT 6
BEGIN
    UPDATE stretch SET is_known = 0 WHERE id = new.stretch AND is_known;
END;
CREATE TRIGGER url_returned AFTER UPDATE OF lost_stamp ON url
WHEN old.lost_stamp IS NOT NULL AND new.lost_stamp IS NULL
BEGIN
    UPDATE page SET is_listed = 1 WHERE site = new.site AND key = new.key;
    -- its stretch may be forgotten since, and what is in no stretch could not be lost again
    INSERT INTO stretch VALUES (new.stretch, new.document, 0, 0, new.key, x'')
    ON CONFLICT DO UPDATE SET keys = CAST(keys || excluded.keys AS BLOB)
        WHERE NOT instr(keys, excluded.keys);
END;
CREATE TRIGGER document_forgotten AFTER DELETE ON document
BEGIN
    DELETE FROM stretch WHERE document = old.id;
END;

-- what documents listed, in the order in which it was acknowledged, until `url` has it: each row has
-- up to 500 records that follow one another, because a row for each, or for each stretch, and its
-- compression would be the most of the cost
CREATE TABLE log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    site INTEGER NOT NULL,
    document INTEGER NOT NULL,
    stamp INTEGER NOT NULL,     -- the date of the reading
    keys BLOB NOT NULL,
    records BLOB NOT NULL,
    locs BLOB NOT NULL,         -- as in `url`; JSON: an array; compressed
    marks BLOB NOT NULL         -- a letter each: see `EntryMark` in database.py
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
CREATE TABLE cached_response (
    site INTEGER NOT NULL,
    url TEXT NOT NULL,          -- as `url_key` writes it
    stamp INTEGER NOT NULL,     -- of the walk that requested it
    asked_at REAL NOT NULL,
    status INTEGER NOT NULL,
    final_url TEXT NOT NULL,
    headers TEXT NOT NULL,      -- JSON: an object
    body BLOB NOT NULL,         -- compressed
    PRIMARY KEY (site, url)
);

-- URLs that are missing, and what their pages answered
CREATE TABLE page (
    site INTEGER NOT NULL,
    key BLOB NOT NULL,
    loc TEXT NOT NULL,
    since REAL NOT NULL,        -- since when it is missing
    document TEXT NOT NULL,     -- the URL of the last one that listed it
    why TEXT NOT NULL,          -- missing, unnamed or deleted
    is_unlisted INTEGER NOT NULL DEFAULT 0,         -- 0 while it waits
    status INTEGER,             -- what the page answered last; NULL before, and for no answer
    no_status TEXT,             -- why `asked_at` is set without an answer: see UnlistedUrl
    redirects_to TEXT,          -- the target of its redirect, if it answered by one
    asked_at REAL,
    dead_at REAL,               -- since when it has answered 404 or 410
    due REAL,                   -- when to ask it again; NULL for never
    tries INTEGER NOT NULL DEFAULT 0,     -- since it became missing, or gone
    is_gone INTEGER NOT NULL DEFAULT 0,
    delivered_unlisted INTEGER NOT NULL DEFAULT 0,
    delivered_gone INTEGER NOT NULL DEFAULT 0,
    is_listed INTEGER NOT NULL DEFAULT 0, -- 1 if a document has listed it since
    PRIMARY KEY (site, key)
) WITHOUT ROWID;
CREATE INDEX page_open ON page (site) WHERE NOT is_unlisted OR is_listed;
CREATE INDEX page_since ON page (site, since);
CREATE INDEX page_due ON page (site, due) WHERE due IS NOT NULL;

-- listed pages that answered 404 or 410 when they were requested as neighbours of missing ones, and
-- the living ones beside them: after nine days a dead one is no neighbour any more (gone.py)
CREATE TABLE neighbor (
    site INTEGER NOT NULL,
    loc TEXT NOT NULL,
    dead_at REAL NOT NULL,      -- since when, at least once in each seven walks; infinity: it lives
    asked_at REAL NOT NULL DEFAULT 0,     -- the last time
    PRIMARY KEY (site, loc)
) WITHOUT ROWID;
