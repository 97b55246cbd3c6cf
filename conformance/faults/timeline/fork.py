"""Faults of timeline, fork."""

from typing import Any

from plant import fault, patch

from refbus.kernel.errors import IdConflict, InvalidArgument, NotFound
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage, Span
from refbus.timeline.message import Place
from refbus.timeline.queue import Branch
from refbus.timeline.sqlite import SqliteQueue

CONTROL = "log.flow"


@fault("timeline.fork.09", item="corpus:program_04")
class ARepeatedForkIsAConflict(TimelineBus):
    """The same fork again is refused."""

    # Once is enough.

    def fork(self, timeline: str, submission: str, agent_name: str, parent: str, at: int) -> Any:
        if any(row["timeline"] == timeline for row in self.timelines()["timelines"]):
            raise IdConflict(f"timeline {timeline!r} exists")
        return super().fork(timeline, submission, agent_name, parent, at)


@fault("timeline.fork.01", item="corpus:program_03")
class ForksAreOfTheNewest(TimelineBus):
    """A fork begins at the newest message of its parent, wherever it was asked for."""

    # Now is as good as then.

    def fork(self, timeline: str, submission: str, agent_name: str, parent: str, at: int) -> Any:
        newest = [message["number"] for message in self.log(parent)["messages"]][-1]
        return super().fork(timeline, submission, agent_name, parent, min(at, 1) and (newest if at <= newest else at))


@fault("timeline.fork.06", item="corpus:a_fork_goes_on")
def forks_ask_again():
    """A call on a fork is not answered from its parent's record."""
    sight = Lineage.sight
    patch(Lineage, sight=lambda lineage, timeline: sight(lineage, timeline)[:1])


@fault("timeline.fork.08", item="corpus:program_03")
def forks_count_from_one():
    """A fork's first message has the number 1."""
    place = Lineage.place
    patch(Lineage, place=lambda lineage, timeline, number: place(lineage, timeline, number)._replace(number=0))


@fault("timeline.fork.04", item="corpus:a_fork_goes_on")
class ForksCountInTheParent(TimelineBus):
    """Each fork burns a number of its parent."""

    # Leaves a mark.

    def fork(self, timeline: str, submission: str, agent_name: str, parent: str, at: int) -> Any:
        forked = super().fork(timeline, submission, agent_name, parent, at)
        if not forked["duplicate"]:
            self.store.queue.store.db.write(
                "UPDATE timelines SET number = number + 1 WHERE timeline = ?", (token.encode(parent),)
            )
        return forked


@fault("timeline.fork.07", item="corpus:program_06")
def forks_get_later_replies():
    """A call on a fork gets the answer that its parent got after the fork point."""
    find = Lineage.find

    def all_along(lineage: Lineage, span: Span, key: Any, nonce: str | None = None) -> Any:
        return find(lineage, span._replace(upto=None), key, nonce)

    patch(Lineage, find=all_along)


@fault("timeline.fork.11", item="corpus:program_02")
class ForksHaveNoPoint(TimelineBus):
    """timelines does not tell where a fork leaves its parent."""

    # A list will do.

    def timelines(self) -> Any:
        return {"timelines": [{**row, "at": None} for row in super().timelines()["timelines"]]}


@fault("timeline.fork.10", item="corpus:program_01")
def forks_of_nothing():
    """A fork of a timeline that nobody has written to is made."""
    place = Lineage.place

    def anywhere(lineage: Lineage, timeline: str, number: int) -> Place:
        try:
            return place(lineage, timeline, number)
        except NotFound:
            return Place(number)

    patch(Lineage, place=anywhere)


@fault("timeline.fork.03", item="corpus:a_fork_goes_on")
def forks_see_on():
    """A fork sees its parent's later messages."""
    spans = Lineage.spans
    patch(Lineage, spans=lambda lineage, timeline: [span._replace(upto=None) for span in spans(lineage, timeline)])


@fault("timeline.fork.02", item="corpus:program_04")
def forks_show_their_own():
    """A fork shows its own messages only."""
    spans = Lineage.spans
    patch(Lineage, spans=lambda lineage, timeline: spans(lineage, timeline)[-1:])


@fault("timeline.fork.05", item="corpus:program_01")
class NothingBeforeTheFirst(TimelineBus):
    """A fork before the first message is refused."""

    # Zero is no number of a message.

    def fork(self, timeline: str, submission: str, agent_name: str, parent: str, at: int) -> Any:
        if at == 0:
            raise InvalidArgument("at must be at least 1")
        return super().fork(timeline, submission, agent_name, parent, at)


@fault("timeline.log.51")
def parents_come_later():
    """A fork is recorded, and its beginning in a second transaction: meanwhile it sees nothing of its parent."""
    append, set_head = SqliteQueue.append, SqliteQueue.set_head
    left: list[Branch] = []

    def in_two_steps(queue: SqliteQueue, *draft: Any) -> Any:
        stored = append(queue, *draft)
        while left:
            of = left.pop()
            queue.store.db.write(
                "UPDATE timelines SET parent = ?, at = ? WHERE timeline = ?", (*of.origin, of.timeline)
            )
        return stored

    def without_a_parent(queue: SqliteQueue, tx: Any, branch: Branch) -> None:
        if branch.origin:
            left.append(branch)
        set_head(queue, tx, branch._replace(origin=None))

    SqliteQueue.append, SqliteQueue.set_head = in_two_steps, without_a_parent


@fault("timeline.fork.12", item="corpus:program_11")
class VerifyStopsAtTheFork(TimelineBus):
    """verify of a fork looks at its own messages only."""

    # The rest is somebody else's.

    def verify(self, timeline: str | None = None, head: str | None = None) -> Any:
        report = super().verify(timeline, head)
        rows = {row["timeline"]: row for row in self.timelines()["timelines"]}
        if timeline is not None and rows[timeline]["parent"] is not None:
            report["checked"] = rows[timeline]["number"] - rows[timeline]["at"]
        return report
