"""Faults of timeline, export."""

from hashlib import sha256
from typing import Any

from plant import fault, patch

from refbus.kernel.errors import NotFound
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage

CONTROL = "log.flow"


@fault("timeline.export.01", item="corpus:program_06")
class DelegationsAreNotReplayed(TimelineBus):
    """A replay leaves delegations out."""

    # Others' work is theirs.

    def replay(self, timeline: str, submission: str) -> Any:
        reply = super().replay(timeline, submission)
        return {**reply, "messages": [row for row in reply["messages"] if ".delegate." not in row["subject"]]}


@fault("timeline.export.05", item="corpus:program_10")
def forks_replay_their_own():
    """A replay on a fork leaves out its parent's messages."""
    read = Lineage.read

    def own(lineage: Lineage, timeline: str, after: int = 0, submission: str | None = None) -> Any:
        nodes = read(lineage, timeline, after, submission)
        mine = token.encode(timeline)
        return nodes if submission is None else (node for node in nodes if node.subject.split(".")[1] == mine)

    patch(Lineage, read=own)


@fault("timeline.export.02", item="corpus:program_01")
class ReplaysWaitForTheEnd(TimelineBus):
    """A submission that has no Complete yet cannot be replayed."""

    # Asks the agent to finish first.

    def replay(self, timeline: str, submission: str) -> Any:
        reply = super().replay(timeline, submission)
        if reply["complete"] is None:
            raise NotFound("the agent has not finished")
        return reply


@fault("timeline.export.03", item="corpus:program_04")
class TheDigestIsOfTheLast(TimelineBus):
    """The digest of a replay is that of its last message."""

    # The last hash covers all before it, does it not?

    def replay(self, timeline: str, submission: str) -> Any:
        reply = super().replay(timeline, submission)
        return {**reply, "digest": sha256(reply["messages"][-1]["hash"].encode()).hexdigest()}


@fault("timeline.export.04", item="corpus:program_03")
class UnknownSubmissionsAreEmpty(TimelineBus):
    """A submission that nobody made is replayed as an empty one."""

    # Nothing happened, and here it is.

    def replay(self, timeline: str, submission: str) -> Any:
        try:
            return super().replay(timeline, submission)
        except NotFound:
            self.log(timeline)
            return {"messages": [], "complete": None, "digest": sha256(b"").hexdigest()}
