-- A message, once for all its readers. n is the order of arrival.
CREATE TABLE messages (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    sender TEXT NOT NULL,
    recipient TEXT,                -- NULL: a broadcast
    body TEXT NOT NULL,
    key TEXT,                      -- the sender's own name for it
    thread TEXT,
    reply_to TEXT,
    priority INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    UNIQUE (sender, key)
);

-- What became of a message, for each reader
CREATE TABLE deliveries (
    reader TEXT NOT NULL,
    n INTEGER NOT NULL REFERENCES messages(n),
    shown INTEGER NOT NULL DEFAULT 0,
    acked INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (reader, n)
) WITHOUT ROWID;

-- Whoever has received once
CREATE TABLE agents (name TEXT PRIMARY KEY);

-- The latest grant of each name; the row stays when the claim ends, so that its token rises
CREATE TABLE claims (name TEXT PRIMARY KEY, holder TEXT, until_ms INTEGER NOT NULL, token INTEGER NOT NULL);

-- A job waits until nobody has it and it is not done. taken: how often it was handed out
CREATE TABLE jobs (
    n INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    queue TEXT NOT NULL,
    body TEXT NOT NULL,
    taker TEXT,
    until_ms INTEGER NOT NULL DEFAULT 0,
    taken INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0
);
