"""The kit's hand on a database of `topics`: the content of its tables, silent readers, and a stranger's writes."""

from __future__ import annotations

import json
from typing import Any

from busproof.bus.hand import Hand


class TopicsHand(Hand):
    """By the letter of seed 004, section 3, without any server."""

    DATABASE = "agent_bus.sqlite"
    LOOK = "tables"

    def tables(self) -> dict[str, Any]:
        """Rows of the seed's tables; topics in the order of their making, messages by topic and seq."""
        rows = {name: self._rows(query) for name, query in _QUERIES.items()}
        for row in (*rows["topics"], *rows["messages"]):
            row["metadata"] = None if row["metadata_json"] is None else json.loads(row.pop("metadata_json"))
        return rows

    def age_cursor(self, topic_id: str, agent_name: str, seconds: float) -> dict[str, Any]:
        """Put a reader's last sync back in time; or forward, as if the clock had been set back since."""
        self.db.execute(
            "UPDATE cursors SET updated_at = updated_at - ? WHERE topic_id = ? AND agent_name = ?",
            (seconds, topic_id, agent_name),
        )
        return {}

    def stranger_sends(self, **row: Any) -> dict[str, Any]:
        """A message of a program that knows only the seed's tables; the next of its topic."""
        names = ", ".join(row)
        values = ", ".join(f":{name}" for name in row)
        self.db.execute(
            f"INSERT INTO messages ({names}, message_type, seq) VALUES ({values}, 'message',"
            " COALESCE((SELECT next_seq FROM topic_seq WHERE topic_id = :topic_id), 1))",
            row,
        )
        self.db.execute(  # a topic that nobody sent to may have no row yet
            "INSERT INTO topic_seq VALUES (:topic_id, 2, :created_at)"
            " ON CONFLICT (topic_id) DO UPDATE SET next_seq = next_seq + 1",
            row,
        )
        return {}

    def stranger_joins(self, **row: Any) -> dict[str, Any]:
        """A name that such a program reserved."""
        names = ", ".join(row)
        self.db.execute(
            f"INSERT INTO agent_name_reservations ({names}) VALUES ({', '.join(f':{name}' for name in row)})", row
        )
        return {}

    def _rows(self, query: str) -> list[dict[str, Any]]:
        cursor = self.db.execute(query)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]


_QUERIES = {
    "topics": "SELECT * FROM topics ORDER BY rowid",
    "topic_seq": "SELECT s.* FROM topic_seq s JOIN topics t USING (topic_id) "
    "WHERE EXISTS (SELECT 1 FROM messages m WHERE m.topic_id = s.topic_id) ORDER BY t.rowid",
    "messages": "SELECT m.* FROM messages m JOIN topics t USING (topic_id) ORDER BY t.rowid, m.seq",
    "cursors": "SELECT * FROM cursors",
    "agent_name_reservations": "SELECT * FROM agent_name_reservations",
}
