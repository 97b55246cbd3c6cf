"""A cursor is answered, and stored by the next call. A kill between the two delivers again."""

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.50",)
CHAOS = {"kills": 8}

MOVE = "UPDATE cursors SET last_seq = ? WHERE topic_id = ? AND agent_name = ?"


class MovesCursorsLate(TopicsBus):
    """Keeps one cursor in mind."""

    _late: tuple[object, ...] | None = None

    def begin_sync(self, topic_id: str, *args: object, **how: object) -> SyncCall:
        me = (topic_id, self.lease.identity(topic_id).agent_name)
        with self.store.transaction() as tx:
            if self._late is not None:
                tx.execute(MOVE, self._late)
            stored = tx.execute("SELECT last_seq FROM cursors WHERE topic_id = ? AND agent_name = ?", me).fetchone()
        call = super().begin_sync(topic_id, *args, **how)  # type: ignore[arg-type]
        self._late = None
        if call.reply["received"] and stored is not None:
            self._late = (call.reply["cursor"]["last_seq"], *me)
            with self.store.transaction() as tx:
                tx.execute(MOVE, (*stored, *me))
        return call


if __name__ == "__main__":
    main(MovesCursorsLate)
