"""Presence is derived from the last claim of a name, not from its cursor."""

from refbus.topics import presence
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.presence.03", "topics.presence.11")
CONTROL = "presence.bad_arguments"


presence._PRESENT = """
    SELECT r.agent_name, coalesce(c.last_seq, 0), r.last_claimed_at AS at
    FROM agent_name_reservations AS r LEFT JOIN cursors AS c USING (topic_id, agent_name)
    WHERE r.topic_id = ? AND at >= ? ORDER BY at DESC LIMIT ?
"""


if __name__ == "__main__":
    raise SystemExit(main())
