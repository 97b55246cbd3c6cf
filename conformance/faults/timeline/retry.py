"""Faults of timeline, retry."""

import time
from contextlib import nullcontext
from typing import Any

from plant import fault, patch

from refbus.kernel.errors import IdConflict, TimedOut
from refbus.timeline import call, keys, stream, token
from refbus.timeline.bus import TimelineBus
from refbus.timeline.call import Calls
from refbus.timeline.message import Draft, Node, draft
from refbus.timeline.sqlite import SqliteQueue

CONTROL = "log.flow"


@fault("timeline.retry.11")
def answers_must_be_heard():
    """On NATS a call that waits looks for its answer only when it hears of one."""
    from refbus.timeline.jetstream import JetStreamQueue

    find = JetStreamQueue.find

    def by_ear(queue: JetStreamQueue, subject: str, nonce: str | None = None, wait_s: float = 0) -> Node | None:
        deadline = time.monotonic() + wait_s
        with queue.client.hints(subject) as heard:
            node = find(queue, subject, nonce)
            while node is None and heard.wait(max(0.0, deadline - time.monotonic())):
                heard.clear()
                node = find(queue, subject, nonce, 0.1)  # it is heard a moment before it is stored
            return node

    patch(JetStreamQueue, find=by_ear)


@fault("timeline.retry.06")
def any_sequence_will_do():
    """A call takes the first response to its operation, whichever the sequence."""
    find = SqliteQueue.find

    def first(queue: SqliteQueue, subject: str, nonce: str | None = None, wait_s: float = 0) -> Any:
        if ".res." not in subject or not wait_s:
            return find(queue, subject, nonce, wait_s)

        def look() -> Any:
            start = subject.rpartition(".")[0] + ".*"
            row = queue.store.db.row(
                "SELECT subject FROM messages WHERE subject GLOB ? ORDER BY position LIMIT 1", (start,)
            )
            return None if row is None else find(queue, row[0])

        return queue.store.wait_for(look, wait_s)

    patch(SqliteQueue, find=first)


@fault("timeline.retry.06", author="public report, Trajectory-IR #229")
def answers_are_kept_without_their_number():
    """A session keeps each answer under its question, without the number of the call: the next call gets it, too."""
    make, memo = Calls.call, {}

    def remembered(self: Calls, key: Any, payload: Any, nonce: str | None, timeout_ms: int) -> Any:
        dimensions = [getattr(key, name) for name in keys.DIMENSIONS[type(key)] if name != "sequence"]
        question = repr((id(self), dimensions, payload, nonce))
        if question not in memo:
            memo[question] = make(self, key, payload, nonce, timeout_ms)
        return memo[question]

    patch(Calls, call=remembered)


@fault("timeline.retry.03", "timeline.log.05")
class DelegatesToItself(TimelineBus):
    """delegate sends the sub-task to its caller."""

    # Does it itself.

    def delegate(self, *args: Any, **kwargs: Any) -> Any:
        return super().delegate(*args, **{**kwargs, "target": kwargs["caller"]})


@fault("timeline.retry.11")
def gives_its_server_up():
    """A caller that hears nothing from NATS at once asks no second time, though its answer is in the record by then."""
    patch(stream, PATIENCE_S=0.0)


@fault("timeline.retry.07", item="corpus:sent_twice")
def late_replies_go_to_the_next():
    """A call takes a response to an earlier call of the same operation."""
    find = SqliteQueue.find

    def earlier(queue: SqliteQueue, subject: str, nonce: str | None = None, wait_s: float = 0) -> Any:
        node = find(queue, subject, nonce, wait_s)
        if node is not None or ".res." not in subject:
            return node
        start = subject.rpartition(".")[0] + ".*"
        row = queue.store.db.row("SELECT subject FROM messages WHERE subject GLOB ? LIMIT 1", (start,))
        return None if row is None else find(queue, row[0])

    patch(SqliteQueue, find=earlier)


@fault("timeline.retry.13", chaos={"waits": True})
def looks_for_the_question_first():
    """A call looks for its question, and then for the answer: another question and its answer may come in between."""

    def recall(self: call.Calls, request: Draft) -> call.Answer | None:
        nonce = None if request.nonce is None else token.decode(request.nonce)
        for span in self.lineage.sight(request.key.timeline):
            before = self.lineage.find(span, request.key, nonce)
            known = self.lineage.find(span, keys.reply_key(request.key, nonce))
            if before is not None and before.payload != request.payload:
                raise IdConflict("this key has other content")
            if known is not None:
                return call._answer(known, replayed=True)
            if before is not None:
                return None
        return None

    patch(call.Calls, recall=recall)


@fault("timeline.retry.04")
class NoAnswerIsNull(TimelineBus):
    """A call without an answer in time returns null."""

    # Nothing is an answer.

    def call_service(self, *args: Any, **kwargs: Any) -> Any:
        try:
            return super().call_service(*args, **kwargs)
        except TimedOut:
            return {"payload": None, "number": 0, "hash": "", "state": None, "replayed": False}


@fault("timeline.retry.08", item="corpus:sent_twice")
def nothing_is_replayed():
    """An answer from the record is told as a fresh one."""
    answer = call._answer
    patch(call, _answer=lambda node, replayed: answer(node, replayed=False))


@fault("timeline.retry.14")
def nothing_was_sent_it_says():
    """A call that waits is told, definitely, that nothing happened when its database goes, though its question is
    sent.
    """
    patch(call, after_a_part=nullcontext)


@fault("timeline.retry.09", item="corpus:program_01")
def other_questions_get_the_answer():
    """A call with other content gets the answer to the first one."""
    patch(call, draft=lambda key, payload, nonce=None: _Same(*draft(key, payload, nonce)))

    class _Text(str):
        """Is the same as any other text."""

        def __ne__(self, other: object) -> bool:
            return False

        __hash__ = str.__hash__

    class _Same(Draft):
        """With a payload that nothing differs from."""

        def __getattribute__(self, name: str) -> Any:
            value = super().__getattribute__(name)
            return _Text(value) if name == "payload" else value


@fault("timeline.retry.12", item="retry.refused")
def remembers_what_it_could_not_send():
    """A session remembers its requests, so as not to ask twice, and remembers each before it is recorded."""

    class Once:
        """A log to which the same is appended once."""

        def __init__(self, log: Any) -> None:
            self._log, self._asked = log, set[Any]()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._log, name)

        def append(self, draft: Any) -> None:
            if draft not in self._asked:
                self._asked.add(draft)
                self._log.append(draft)

    _init = Calls.__init__

    def begins(self: Calls, store: Any, lineage: Any, log: Any) -> None:
        _init(self, store, lineage, Once(log))

    patch(Calls, __init__=begins)


@fault("timeline.retry.01")
class RunsAnotherRuntime(TimelineBus):
    """run_agent sends its Invoke to a runtime of its own choice."""

    # Knows better.

    def run_agent(self, *args: Any, **kwargs: Any) -> Any:
        return super().run_agent(*args, **{**kwargs, "runtime": "default"})


@fault("timeline.retry.02")
class ServicesEcho(TimelineBus):
    """call_service returns the payload that was sent."""

    # Hears itself.

    def call_service(self, *args: Any, **kwargs: Any) -> Any:
        return {**super().call_service(*args, **kwargs), "payload": kwargs["payload"]}


@fault("timeline.retry.10", item="corpus:program_22")
def time_may_be_negative():
    """A time-out below zero is none."""
    call = Calls.call

    def at_once(calls: Calls, key: Any, payload: Any, nonce: Any, timeout_ms: Any) -> Any:
        return call(calls, key, payload, nonce, max(0, timeout_ms) if type(timeout_ms) is int else timeout_ms)

    patch(Calls, call=at_once)


@fault("timeline.retry.05", "timeline.log.31", item="corpus:sent_twice")
def time_outs_promise():
    """TIMEOUT says that certainly nothing happened, and the request stands in the record."""
    patch(TimedOut, definite=True)
