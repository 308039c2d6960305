-- When to come back: see schedule.py. These tables may be absent, and most rows have no seals: what
-- a damaged one says costs a request, or the wait for one.

CREATE TABLE IF NOT EXISTS schedule (
    document INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,  -- when it last answered; all moments are in seconds
    found_at INTEGER NOT NULL,  -- when it last had news
    news REAL NOT NULL,
    hours REAL NOT NULL,
    rate REAL NOT NULL,         -- of news an hour; 0 for a page of a feed, which follows the feed
    failures INTEGER NOT NULL,  -- in a row
    not_before INTEGER NOT NULL,
    announced INTEGER NOT NULL, -- the index that says that it has changed, or 0
    is_first INTEGER NOT NULL,  -- whether that index is trusted, so that this comes first
    said REAL NOT NULL,         -- of an index: see `ScheduleRow.trust`
    right REAL NOT NULL,
    wrong REAL NOT NULL
);

-- what is known of all documents of a site together
CREATE TABLE IF NOT EXISTS pace (
    site INTEGER PRIMARY KEY,
    asked_at INTEGER NOT NULL,
    news REAL NOT NULL,
    hours REAL NOT NULL,
    quiet_at INTEGER NOT NULL,  -- these three: of its documents without news for a week
    quiet_news REAL NOT NULL,
    quiet_hours REAL NOT NULL,
    weight REAL NOT NULL,
    missed_at INTEGER NOT NULL, -- a removal waits until all was asked after this; or 0
    failures INTEGER NOT NULL,
    not_before INTEGER NOT NULL
);

-- of a site whose last walk was to deliver removed URLs: those up to this one are delivered
CREATE TABLE IF NOT EXISTS told (
    site INTEGER PRIMARY KEY,
    loc TEXT NOT NULL
);

-- answers that rounds use for a day: see kept.py
CREATE TABLE IF NOT EXISTS kept (
    site INTEGER NOT NULL,
    url TEXT NOT NULL,          -- as `url_key` writes it
    run INTEGER NOT NULL,       -- in which it was asked for
    asked_at INTEGER NOT NULL,
    status INTEGER NOT NULL,
    final_url TEXT NOT NULL,
    headers TEXT NOT NULL,      -- JSON: an object
    body BLOB NOT NULL,         -- compressed
    seal INTEGER NOT NULL,
    PRIMARY KEY (site, url)
);
