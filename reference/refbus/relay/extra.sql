-- Tables and indexes that the seed does not have.

-- The subscribers of each channel
CREATE TABLE IF NOT EXISTS subscriptions (
    channel TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    PRIMARY KEY (channel, agent_name)
) WITHOUT ROWID;

-- The state that an agent asked to be kept for it
CREATE TABLE IF NOT EXISTS continuity (
    agent_name TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    saved_at INTEGER NOT NULL
);

-- The newest name that any inbox held when a copy was put in this ledger's place, which may not know that file
CREATE TABLE IF NOT EXISTS restored (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    inbox_newest_ns INTEGER NOT NULL
);

-- Processes that were started here. The system uses a pid again: only together with its start does it name a process.
CREATE TABLE IF NOT EXISTS processes (
    agent_name TEXT PRIMARY KEY,
    pid INTEGER NOT NULL,
    started INTEGER NOT NULL,                -- ticks since the machine booted
    token TEXT NOT NULL                      -- in the environment of everything that it starts
);

-- Things that were refused or removed, or are odd
CREATE TABLE IF NOT EXISTS audit_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    event TEXT NOT NULL,
    path TEXT NOT NULL,                      -- relative to the root
    detail TEXT,
    file_inode INTEGER,                      -- a thing is told of once, until it is another
    file_mtime_ns INTEGER
);
CREATE INDEX IF NOT EXISTS idx_audit_log_path ON audit_log(path, event);

-- How much an agent sent lately, and where its inbox ends
CREATE INDEX IF NOT EXISTS idx_messages_rate ON messages(agent_name, direction, discovered_at);

-- Operations that are not over: few, among all that ever were
CREATE INDEX IF NOT EXISTS idx_operations_open ON pending_operations(id) WHERE completed_at IS NULL;
