"""A process takes numbers ten at a time, and uses them up."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.lease import Standing
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.log.41", "topics.log.42")


class Mutant(TopicsBus):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.blocks: dict[str, range] = {}

    def _standing(self, connection: Any, topic_id: str) -> Standing:
        standing = super()._standing(connection, topic_id)
        sql = "SELECT count(*) FROM messages WHERE topic_id = ? AND seq BETWEEN ? AND ?"
        block = self.blocks.get(topic_id, range(0))
        used = connection.execute(sql, (topic_id, block.start, block.stop - 1)).fetchone()[0]
        if used == len(block):
            used, first = 0, (standing.next_seq + 8) // 10 * 10 + 1
            block = self.blocks[topic_id] = range(first, first + 10)
        return standing._replace(next_seq=block[used])


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
