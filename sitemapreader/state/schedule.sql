-- When to come back: see schedule.py. What a damaged row says costs a request, or the wait for one.

CREATE TABLE IF NOT EXISTS schedule (
    document INTEGER PRIMARY KEY,
    site INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,  -- when it last answered; all moments are in seconds
    found_at INTEGER NOT NULL,  -- when it last had news
    news REAL NOT NULL,
    hours REAL NOT NULL,
    rate REAL NOT NULL,         -- of news an hour; 0 for a page of a feed, which follows the feed
    failures INTEGER NOT NULL,  -- in a row
    not_before INTEGER NOT NULL
);

-- what is known of all documents of a site together
CREATE TABLE IF NOT EXISTS pace (
    site INTEGER PRIMARY KEY,
    weight REAL NOT NULL,       -- 1 by the root of the sum of their rates
    missed_at INTEGER NOT NULL, -- a loss waits until all was asked after this; or 0
    failures INTEGER NOT NULL,
    not_before INTEGER NOT NULL
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
    PRIMARY KEY (site, url)
);
