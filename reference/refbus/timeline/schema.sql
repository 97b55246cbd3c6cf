-- The seed has no tables: these are the reference's. Names stand as tokens of subjects, so that every text is ASCII.

-- The record, which is also the queue: position is the order of arrival, number the order within the timeline
CREATE TABLE messages (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    timeline TEXT NOT NULL,
    number INTEGER NOT NULL,
    submission TEXT NOT NULL,
    type TEXT NOT NULL,            -- the token in the subject: invoke, complete, req, res, delegate, delegate-reply, fork
    subject TEXT NOT NULL,
    nonce TEXT,                    -- of a delegation
    state TEXT,                    -- of a result: sha256 of the agent's state
    payload TEXT NOT NULL,         -- JSON
    time_us INTEGER NOT NULL,
    previous TEXT NOT NULL,
    hash TEXT NOT NULL,
    UNIQUE (timeline, number)
);

-- The identity of a message: a second one of the same subject and nonce is the first again, or refused
CREATE UNIQUE INDEX messages_by_subject ON messages(subject, coalesce(nonce, ''));

-- Messages that a consumer has not looked at yet
CREATE INDEX messages_by_type ON messages(type, position);

-- The end of each chain, which the next message is appended to; and where a fork began
CREATE TABLE timelines (
    timeline TEXT PRIMARY KEY,
    parent TEXT,
    at INTEGER,
    number INTEGER NOT NULL,
    hash TEXT NOT NULL
) WITHOUT ROWID;

-- Durable consumers: everything up to floor was looked at, and is done unless it stands in deliveries (T5)
CREATE TABLE consumers (
    consumer TEXT PRIMARY KEY,
    floor INTEGER NOT NULL
) WITHOUT ROWID;

CREATE TABLE deliveries (
    consumer TEXT NOT NULL,
    position INTEGER NOT NULL,
    delivery_count INTEGER NOT NULL,
    visible_at_us INTEGER NOT NULL, -- from then on it is anybody's
    PRIMARY KEY (consumer, position)
) WITHOUT ROWID;

CREATE INDEX deliveries_due ON deliveries(consumer, visible_at_us, position);
