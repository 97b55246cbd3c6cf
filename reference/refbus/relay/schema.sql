-- ledger.db, to the letter of the seed.

-- Tracks all known message files
CREATE TABLE IF NOT EXISTS messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    message_id TEXT UNIQUE NOT NULL,         -- agent/timestamp-uuid: eight digits alone meet among 50,000 messages
    agent_name TEXT NOT NULL,
    direction TEXT NOT NULL,                 -- outbox / inbox
    file_path TEXT NOT NULL,                 -- relative to the root, where the file was found or put
    file_size INTEGER NOT NULL,
    file_mtime_ns INTEGER NOT NULL,
    file_inode INTEGER,
    checksum TEXT,                           -- SHA-256 of the file; NULL for one that was not read
    status TEXT NOT NULL DEFAULT 'pending',  -- pending / processing / completed / failed / archived
    message_type TEXT,                       -- KIND
    target TEXT,                             -- TO
    discovered_at INTEGER NOT NULL,          -- epoch milliseconds, as all times here
    processed_at INTEGER,
    retry_count INTEGER DEFAULT 0,
    last_error TEXT,
    UNIQUE(file_path)
);

CREATE INDEX IF NOT EXISTS idx_messages_status ON messages(status);
CREATE INDEX IF NOT EXISTS idx_messages_agent ON messages(agent_name, direction);
CREATE INDEX IF NOT EXISTS idx_messages_discovered ON messages(discovered_at);

-- Orchestrator state for crash recovery
CREATE TABLE IF NOT EXISTS orchestrator_state (
    key TEXT PRIMARY KEY,
    value TEXT,
    updated_at INTEGER
);

-- Agent registrations
CREATE TABLE IF NOT EXISTS agents (
    name TEXT PRIMARY KEY,
    registered_at INTEGER NOT NULL,
    last_seen_at INTEGER,
    pid INTEGER,
    status TEXT DEFAULT 'active'             -- active / inactive / terminated
);

-- Operations of several steps that were begun, written before the first step
CREATE TABLE IF NOT EXISTS pending_operations (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    operation_type TEXT NOT NULL,            -- spawn / release / deliver
    payload TEXT NOT NULL,                   -- JSON
    created_at INTEGER NOT NULL,
    completed_at INTEGER
);
