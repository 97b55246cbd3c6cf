"""A session whose name another one takes over while it waits is told, at the end of its wait, that nothing came."""

from refbus.kernel.errors import AgentNotJoined
from refbus.topics import cursor
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

receive = cursor.SyncCall.receive


def to_its_end(call: cursor.SyncCall) -> None:
    try:
        receive(call)
    except AgentNotJoined:
        return


cursor.SyncCall.receive = to_its_end

if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
