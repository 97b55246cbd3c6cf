-- Schema 6, to the letter of the seed. Columns that it does not call NULL are NOT NULL.
CREATE TABLE IF NOT EXISTS meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
INSERT OR IGNORE INTO meta (key, value) VALUES ('schema_version', '6');

CREATE TABLE IF NOT EXISTS topics (
    topic_id TEXT PRIMARY KEY,       -- short UUID
    name TEXT NOT NULL,
    created_at REAL NOT NULL,        -- unix seconds, as all times here
    status TEXT NOT NULL,            -- open / closed
    closed_at REAL NULL,
    close_reason TEXT NULL,
    metadata_json TEXT NULL
);

CREATE INDEX IF NOT EXISTS idx_topics_name_status_created_at ON topics (name, status, created_at);

-- The number that the next message of a topic gets
CREATE TABLE IF NOT EXISTS topic_seq (
    topic_id TEXT PRIMARY KEY,
    next_seq INTEGER NOT NULL,
    updated_at REAL NOT NULL
);

CREATE TABLE IF NOT EXISTS messages (
    message_id TEXT PRIMARY KEY,     -- short UUID
    topic_id TEXT NOT NULL,
    seq INTEGER NOT NULL,            -- dense from 1 within its topic
    sender TEXT NOT NULL,
    message_type TEXT NOT NULL,      -- free-form (recommended: message, question, answer)
    reply_to TEXT NULL,              -- a message of the same topic
    content_markdown TEXT NOT NULL,
    metadata_json TEXT NULL,
    client_message_id TEXT NULL,     -- by which a retry is recognised
    created_at REAL NOT NULL
);

CREATE UNIQUE INDEX IF NOT EXISTS idx_messages_topic_seq_unique ON messages (topic_id, seq);
CREATE UNIQUE INDEX IF NOT EXISTS idx_messages_topic_sender_client_id_unique
    ON messages (topic_id, sender, client_message_id) WHERE client_message_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_messages_topic_seq ON messages (topic_id, seq);
CREATE INDEX IF NOT EXISTS idx_messages_topic_reply_to ON messages (topic_id, reply_to);

-- How far each peer has acknowledged
CREATE TABLE IF NOT EXISTS cursors (
    topic_id TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    updated_at REAL NOT NULL,
    PRIMARY KEY (topic_id, agent_name)
);

-- The owner of each name, for the life of the topic
CREATE TABLE IF NOT EXISTS agent_name_reservations (
    topic_id TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    reclaim_token TEXT NOT NULL,     -- shows that a name is the caller's
    created_at REAL NOT NULL,
    last_claimed_at REAL NOT NULL,
    PRIMARY KEY (topic_id, agent_name)
);
