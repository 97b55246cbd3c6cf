CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    type TEXT NOT NULL,
    version TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    correlation_id TEXT,
    from_agent TEXT NOT NULL,
    to_agent TEXT,
    channel TEXT NOT NULL,
    priority INTEGER NOT NULL DEFAULT 5,
    payload TEXT NOT NULL,  -- JSON
    status TEXT NOT NULL DEFAULT 'pending',
    created_at TEXT NOT NULL,
    expires_at TEXT,
    delivery_count INTEGER DEFAULT 0,
    last_delivered_at TEXT,
    error TEXT
);

-- The searches of a reader: pending messages; an answer by its link; expired messages
CREATE INDEX idx_ready_messages ON messages(channel, status, priority DESC, timestamp)
    WHERE status = 'pending';

CREATE INDEX idx_correlation ON messages(correlation_id)
    WHERE correlation_id IS NOT NULL;

CREATE INDEX idx_expiration ON messages(expires_at)
    WHERE expires_at IS NOT NULL;

CREATE TABLE channel_subscriptions (
    channel_name TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    subscribed_at TEXT NOT NULL,
    PRIMARY KEY (channel_name, agent_id)
);

CREATE INDEX idx_agent_channels ON channel_subscriptions(agent_id);

CREATE TABLE agent_status (
    agent_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,  -- 'active', 'idle', 'degraded', 'failed'
    current_task TEXT,
    last_heartbeat TEXT NOT NULL,
    messages_pending INTEGER DEFAULT 0,
    messages_processed INTEGER DEFAULT 0,
    error_count INTEGER DEFAULT 0
);

CREATE TABLE dead_letter_queue (
    id TEXT PRIMARY KEY,
    original_message TEXT NOT NULL,  -- JSON of full message
    error TEXT NOT NULL,
    moved_at TEXT NOT NULL,
    retry_count INTEGER NOT NULL
);
