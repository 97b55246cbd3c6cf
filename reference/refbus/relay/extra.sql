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

-- Every change of a message's or an agent's status, of a subscription and of a saved state, whoever makes it (5.4),
-- by the wall clock
CREATE TABLE IF NOT EXISTS ledger_log (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
    event TEXT NOT NULL,                     -- the new status; removed
    path TEXT NOT NULL,                      -- relative to the root
    detail TEXT                              -- the reason of a failure
);
CREATE TRIGGER IF NOT EXISTS log_new_message AFTER INSERT ON messages BEGIN
    INSERT INTO ledger_log (event, path, detail) VALUES (NEW.status, NEW.file_path, NEW.last_error);
END;
CREATE TRIGGER IF NOT EXISTS log_message AFTER UPDATE OF status ON messages WHEN NEW.status IS NOT OLD.status BEGIN
    INSERT INTO ledger_log (event, path, detail) VALUES (NEW.status, NEW.file_path,
        CASE WHEN NEW.status = 'failed' OR NEW.retry_count > OLD.retry_count THEN NEW.last_error END);
END;
CREATE TRIGGER IF NOT EXISTS log_removed_message AFTER DELETE ON messages BEGIN
    INSERT INTO ledger_log (event, path) VALUES ('removed', OLD.file_path);
END;
CREATE TRIGGER IF NOT EXISTS log_new_agent AFTER INSERT ON agents BEGIN
    INSERT INTO ledger_log (event, path) VALUES (NEW.status, 'agents/' || NEW.name);
END;
CREATE TRIGGER IF NOT EXISTS log_agent AFTER UPDATE OF status ON agents WHEN NEW.status IS NOT OLD.status BEGIN
    INSERT INTO ledger_log (event, path) VALUES (NEW.status, 'agents/' || NEW.name);
END;
CREATE TRIGGER IF NOT EXISTS log_removed_agent AFTER DELETE ON agents BEGIN
    INSERT INTO ledger_log (event, path) VALUES ('removed', 'agents/' || OLD.name);
END;

CREATE TRIGGER IF NOT EXISTS log_subscription AFTER INSERT ON subscriptions BEGIN
    INSERT INTO ledger_log (event, path, detail) VALUES ('subscribed', 'agents/' || NEW.agent_name, NEW.channel);
END;
CREATE TRIGGER IF NOT EXISTS log_removed_subscription AFTER DELETE ON subscriptions BEGIN
    INSERT INTO ledger_log (event, path, detail) VALUES ('unsubscribed', 'agents/' || OLD.agent_name, OLD.channel);
END;
CREATE TRIGGER IF NOT EXISTS log_state AFTER INSERT ON continuity BEGIN
    INSERT INTO ledger_log (event, path) VALUES ('state_saved', 'agents/' || NEW.agent_name);
END;

-- How much an agent sent lately, and where its inbox ends
CREATE INDEX IF NOT EXISTS idx_messages_rate ON messages(agent_name, direction, discovered_at);

-- Operations that are not over: few, among all that ever were
CREATE INDEX IF NOT EXISTS idx_operations_open ON pending_operations(id) WHERE completed_at IS NULL;
