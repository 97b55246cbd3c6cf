-- Tables that the seed does not have. A participant that knows only the seed's tables never needs them.

-- The state of each delivery, by message and by the agent that claimed it (C2, C3). For a message to one agent,
-- `messages` says the same where it can; for a broadcast, whose row stays pending for the others, this is all.
CREATE TABLE IF NOT EXISTS message_deliveries (
    message_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    status TEXT NOT NULL,              -- processing, failed, done, dead; pending: due again
    delivery_count INTEGER NOT NULL,
    failures INTEGER NOT NULL,
    visible_at TEXT NOT NULL,          -- processing and failed: may be claimed again from then on
    error TEXT,
    PRIMARY KEY (message_id, agent_id)
) WITHOUT ROWID;

CREATE INDEX IF NOT EXISTS idx_deliveries_due ON message_deliveries(agent_id, visible_at)
    WHERE status IN ('processing', 'failed');

-- Ready messages by their addressee: with the seed's index alone, a reader passes over all that is pending for others
-- in its channels
CREATE INDEX IF NOT EXISTS idx_ready_for_agent ON messages(channel, to_agent, status, priority DESC, timestamp)
    WHERE status = 'pending';

-- Four views say when a message is there; every statement that asks reads them. Times are compared as text, and
-- `~` sorts after all of them: never.

-- A message is there while live_until > now (C4, C13). Nobody can name one whose id is no text.
CREATE VIEW live_messages AS
    SELECT rowid AS number, *, coalesce(expires_at, '~') AS live_until
    FROM messages
    WHERE typeof(id) = 'text';

-- An agent may claim its delivery once claimable_from <= now: refbus.kernel.rules.delivery.may_claim.
CREATE VIEW claimable_deliveries AS
    SELECT message_id, agent_id, status,
           CASE status
               WHEN 'pending' THEN ''
               WHEN 'processing' THEN visible_at
               WHEN 'failed' THEN visible_at
               ELSE '~'
           END AS claimable_from
    FROM message_deliveries;

-- The same for a message to one agent that was claimed or has failed: again there once due_at <= now, unless it has
-- expired. The condition on d.status is the index's. Where the two rows disagree, a participant that knows only the
-- seed's tables came later, and due_deliveries knows nothing of it: see foreign_claims.
CREATE VIEW due_deliveries AS
    SELECT m.*, d.agent_id, d.visible_at AS due_at
    FROM message_deliveries AS d JOIN live_messages AS m ON m.id = d.message_id
    WHERE d.status IN ('processing', 'failed') AND m.to_agent = d.agent_id AND m.status = d.status;

-- A claim by a participant that knows only the seed's tables; its failure is over at once.
CREATE VIEW foreign_claims AS
    SELECT m.id, m.to_agent, CASE m.status WHEN 'processing' THEN coalesce(m.last_delivered_at, '') ELSE '' END AS since
    FROM messages AS m
    WHERE m.to_agent IS NOT NULL AND m.status IN ('processing', 'failed')
      AND NOT EXISTS (SELECT 1 FROM message_deliveries AS d
                      WHERE d.message_id = m.id AND d.agent_id = m.to_agent AND d.status = m.status);

-- Messages that a clean-up removed: a send that is tried again afterwards is still known (C16). Kept for good, as is
-- the audit trail, which holds five times as much of each message.
CREATE TABLE IF NOT EXISTS removed_messages (
    message_id TEXT PRIMARY KEY,
    content_hash TEXT NOT NULL
) WITHOUT ROWID;

-- Each agent's token bucket, in the file so that it is the agent's and not a process's
CREATE TABLE IF NOT EXISTS token_buckets (
    agent_id TEXT PRIMARY KEY,
    tokens REAL NOT NULL,
    at_us INTEGER NOT NULL
) WITHOUT ROWID;

-- Votes outlive the messages that announced them
CREATE TABLE IF NOT EXISTS votes (
    vote_id TEXT PRIMARY KEY,
    topic TEXT NOT NULL,
    options TEXT NOT NULL,             -- JSON list
    deadline TEXT NOT NULL,
    initiated_by TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS vote_casts (
    vote_id TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    option TEXT NOT NULL,
    reasoning TEXT,
    cast_at TEXT NOT NULL,
    PRIMARY KEY (vote_id, agent_id)
) WITHOUT ROWID;

-- Events, each recorded in the transaction in which it happened; moved to audit-trail.jsonl
CREATE TABLE IF NOT EXISTS audit_log (
    audit_seq INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    event TEXT NOT NULL,
    agent_id TEXT,
    message_id TEXT,
    details TEXT NOT NULL              -- JSON
);
