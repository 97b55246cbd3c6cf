-- Tables that the seed does not have. A participant that knows only the seed's tables never needs them.

-- Fencing: every claim of a name raises its number, and a session that holds an older one may not write (B10)
CREATE TABLE IF NOT EXISTS reservation_fences (
    topic_id TEXT NOT NULL,
    agent_name TEXT NOT NULL,
    fence INTEGER NOT NULL,
    PRIMARY KEY (topic_id, agent_name)
) WITHOUT ROWID;

-- How far a search index reaches in each topic. The index is 'fts' or the name of an embedding model.
CREATE TABLE IF NOT EXISTS search_state (
    index_name TEXT NOT NULL,
    topic_id TEXT NOT NULL,
    last_seq INTEGER NOT NULL,
    PRIMARY KEY (index_name, topic_id)
) WITHOUT ROWID;

-- Vectors of the passages of a message, little-endian 32-bit floats of length one
CREATE TABLE IF NOT EXISTS passages (
    model TEXT NOT NULL,
    message_id TEXT NOT NULL,
    start INTEGER NOT NULL,          -- of the passage in the body, in characters
    stop INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, message_id, start)
) WITHOUT ROWID;
