"""The reference's `mailbox` whose receive takes each message in a transaction of its own."""

from typing import Any

from refbus.driver import serve
from refbus.mailbox.bus import promising


class TakesOneByOne(promising("consumes")):  # type: ignore[misc]
    """A death leaves some messages taken, which is at most once."""

    def _received(self, agent_id: str, limit: int, after: int) -> dict[str, Any]:
        answer = super()._received(agent_id, 1, after)
        while len(answer["messages"]) < limit and (more := super()._received(agent_id, 1, after))["messages"]:
            answer["messages"] += more["messages"]
        return answer


if __name__ == "__main__":
    serve({"mailbox": TakesOneByOne})
