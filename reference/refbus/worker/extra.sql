-- Tables that the seed does not have. A participant that knows only the seed's tables never needs them.

-- Fencing: the token of each task's latest grant; it outlives the claim (W10)
CREATE TABLE IF NOT EXISTS task_tokens (
    task_id TEXT PRIMARY KEY,
    token INTEGER NOT NULL
) WITHOUT ROWID;

-- Deliveries that began and were not acknowledged, counted only with option deliveries_max (W11)
CREATE TABLE IF NOT EXISTS deliveries (
    agent_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    deliveries INTEGER NOT NULL,
    PRIMARY KEY (agent_id, seq)
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS dead_letters (
    agent_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    deliveries INTEGER NOT NULL,
    dead_at_ms INTEGER NOT NULL,
    PRIMARY KEY (agent_id, seq)
) WITHOUT ROWID;

-- Dead letters put back in front of their agent: below its cursor and yet unread
CREATE TABLE IF NOT EXISTS redriven (
    agent_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    is_delivered INTEGER NOT NULL DEFAULT 0,  -- only what was handed out can be acknowledged
    PRIMARY KEY (agent_id, seq)
) WITHOUT ROWID;

-- HMAC of a message, with option signing_key
CREATE TABLE IF NOT EXISTS signatures (
    seq INTEGER PRIMARY KEY,
    mac TEXT NOT NULL
);

-- Messages that every agent with a cursor has processed, moved out of the log with their seq and id
CREATE TABLE IF NOT EXISTS archived_messages (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    ts_ms INTEGER NOT NULL,
    from_agent TEXT NOT NULL,
    to_agent TEXT,
    type TEXT NOT NULL,
    correlation_id TEXT,
    in_reply_to TEXT,
    payload TEXT,
    payload_ref TEXT
);

-- A log that was made without AUTOINCREMENT may have archived its newest: those numbers are taken, too
INSERT INTO sqlite_sequence (name, seq)
    SELECT 'messages', 0 WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'messages');
UPDATE sqlite_sequence SET seq = max(seq, (SELECT coalesce(max(seq), 0) FROM archived_messages))
    WHERE name = 'messages';

-- Worker states (W15); workers/NAME.json mirrors a row for readers without SQLite
CREATE TABLE IF NOT EXISTS worker_states (
    worker TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    updated_at_ms INTEGER NOT NULL
) WITHOUT ROWID;

-- Full-text index; rowid is seq. The search itself brings it up to date, from last_seq on
CREATE VIRTUAL TABLE IF NOT EXISTS search_index USING fts5(type, body, content='');
CREATE TABLE IF NOT EXISTS search_state (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    last_seq INTEGER NOT NULL
);
INSERT OR IGNORE INTO search_state (id, last_seq) VALUES (1, 0);
