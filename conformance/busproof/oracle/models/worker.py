"""`worker` (seed 000, decisions W1 to W25 and 0003 to 0009) as an executable specification: read it as the seed's text.

Messages stand in a log in seq order; an agent's cursor says how far it has processed them. Blobs, claims, heartbeats,
worker states, dead letters and the export stand beside. Nothing here knows SQL, files or processes. `worker_state`
holds the state, `worker_values` the valid values; this module has the effect of every operation.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Generator
from dataclasses import replace
from typing import Any

from busproof.contract.worker import INLINE_BYTES, LEASE_MS, WORKER_USUAL
from busproof.oracle.models import worker_fewer as fewer
from busproof.oracle.models.parts import ANYTHING
from busproof.oracle.models.spec import (
    ANY_CODE,
    Above,
    AnyOrder,
    Cited,
    DoesNotApply,
    Fits,
    FreshId,
    Json,
    Moment,
    Refuse,
    Told,
    is_json_text,
    plain,
    same_json,
    those_above,
    undecided_if,
)
from busproof.oracle.models.worker_parts import AtLeast, JsonText, announces
from busproof.oracle.models.worker_state import LOST, UNSURE, Claim, Draft, Options, Row, WorkerState
from busproof.oracle.models.worker_values import holds, is_ref, ref_of, tokens, whole_numbers, words_of

USUAL = WORKER_USUAL.keys()
SILENCE = (
    (300_000, "DEAD", "worker.presence.06"),
    (100_000, "STALE", "worker.presence.05"),
    (30_000, "WARN", "worker.presence.04"),
)
KEY_ROW = "worker.log.70"  # the signing key is shown nowhere
ENDS = frozenset({"FAILED", "CANCELLED"})
WAYS: dict[str | None, frozenset[str]] = {
    None: frozenset({"ASSIGNED"}),
    "ASSIGNED": ENDS | {"WORKING"},
    "WORKING": ENDS | {"IN_REVIEW"},
    "IN_REVIEW": ENDS | {"APPROVED", "WORKING"},
    "APPROVED": ENDS | {"COMPLETED"},
    "COMPLETED": frozenset(),
    "FAILED": frozenset(),
    "CANCELLED": frozenset(),
}

# A search engine may read this as more than words, or as none.
QUERY_SYNTAX = re.compile(r"[^\w\s]|_|\b(?:AND|OR|NOT|NEAR|null|true|false)\b")
NO_TIME = "a heartbeat without a whole number for its time"
ANY_MESSAGES = Fits("what the query syntax of the bus finds", lambda seen: type(seen) is list)
FIRST_SEARCH, EACH_SEARCH = "made by the first search", "made by each search"  # of a search's index


class WorkerModel(WorkerState):
    """The answer to each call, and the state that it leaves."""

    EITHER = frozenset({"worker.cursor.24", "worker.search.04"})

    # -- sessions

    def open(self, options: dict[str, Any]) -> dict[str, Any]:
        """A session on the store. One that was open on this process is closed."""
        opened = Options(**options)
        if opened.lease_ms != LEASE_MS and self.choice("options: lease_ms", "is known", "is not known") != "is known":
            opened = replace(opened, lease_ms=LEASE_MS)  # on another bus
        for name in ("lease_ms", "unread_max", "deliveries_max"):
            if (bound := getattr(opened, name)) is not None or name == "lease_ms":
                self.whole(name, bound)
        key = opened.signing_key
        if key is not None and (type(key) is not str or not re.fullmatch("(?:[0-9a-fA-F]{2})+", key)):
            self.refuse("INVALID_ARGUMENT", "worker.limit.01")
        if opened.synchronous not in ("NORMAL", "FULL"):
            self.may_refuse("synchronous neither NORMAL nor FULL", "worker.limit.01", reference_refuses=True)
        self.sessions[self.at] = opened
        if self.dead and self.choice("worker.retry.08: when a store is opened", "kept", "cleared") == "cleared":
            self.dead.clear()  # on another bus
        if self.key is not None and (self.key, KEY_ROW) not in self.secrets:
            self.secrets.append((self.key, KEY_ROW))
        return {}

    def fitted(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A bus that lacks something usual is sent messages that do not need it."""
        return params if self.features >= USUAL else fewer.fitted(method, params, self.readers, self.features)

    # -- the log

    def publish(self, agent_id: Any, message: Any) -> dict[str, Any]:
        """Append one message. The same id and content again is the first message again (W3)."""
        self.name(agent_id)
        draft, before = self.draft(message), len(self.log)
        row = self.append(agent_id, draft, "")
        new = "worker.log.08" if draft.id is None else "worker.log.07"
        named_by = new if len(self.log) > before else "worker.log.10"
        return {"id": Cited(row.id, (named_by,)), "seq": self.told("seq", row.seq)}

    def publish_many(self, agent_id: Any, messages: Any) -> dict[str, Any]:
        """All or none, in the order given."""
        self.name(agent_id)
        if type(messages) is not list:
            self.refuse("INVALID_ARGUMENT", "worker.limit.01")
        try:
            return self.appended(agent_id, messages)
        except Refuse as refusal:
            # If several are wrong, any of them may be told; a bound that nobody asked for is told for what it is.
            is_unasked = refusal.code == "BACKPRESSURE" and self.session.unread_max is None
            raise Refuse(refusal.code if is_unasked or len(messages) == 1 else ANY_CODE) from None

    def appended(self, agent_id: str, messages: list[Any]) -> dict[str, Any]:
        """Append a batch; if one message is refused, go back to the state before."""
        drafts = [self.draft(message) for message in messages]
        self.row("worker.log.27")
        before = list(self.log), dict(self.by_id), list(self.unnamed), self.highest, dict(self.blobs), dict(self.harm)
        spent = self.spent
        try:
            rows = [self.append(agent_id, draft, "each") for draft in drafts]
        except Exception:
            self.row("worker.log.52")
            self.log, self.by_id, self.unnamed, self.highest, self.blobs, self.harm = before
            self.spent = spent + len(drafts)
            for draft in drafts:
                self.may_be_saved(draft)
            raise
        return {"ids": [row.id for row in rows], "seqs": self.told("seq", [row.seq for row in rows])}

    def told(self, feature: str, value: Any) -> Any:
        """A value that a bus tells if it declares the feature."""
        return value if feature in self.features else Told(value)

    def draft(self, message: Any) -> Draft:
        """A valid message of a sender."""
        if type(message) is not dict:
            self.refuse("INVALID_ARGUMENT", "worker.limit.01")
        if not message.keys() <= {"id", "to", "type", "correlation_id", "in_reply_to", "payload"}:
            self.refuse("INVALID_ARGUMENT", "worker.limit.02")
        if message.get("type") is None:
            self.refuse("INVALID_ARGUMENT", "worker.log.12", "worker.log.15")
        to = message.get("to")
        ids = {name: self.optional(message.get(name)) for name in ("id", "correlation_id", "in_reply_to")}
        to, type_ = None if to is None else self.name(to), self.text(message["type"])
        text = self.json(message["payload"]) if "payload" in message else None
        ref = None if text is None or self.is_inline(text) else ref_of(text)
        return Draft(to=to, type=type_, text=text, ref=ref, **ids)

    def is_inline(self, text: str) -> bool:
        """Does a payload stay in its row?"""
        size = len(text.encode())
        if size == INLINE_BYTES:
            return self.choice("worker.blob.02: 4096 bytes", "stay in the row", "are a blob") == "stay in the row"
        return size < INLINE_BYTES

    def append(self, sender: str, draft: Draft, how: str) -> Row:
        """The new row, or the one that was published under this id before."""
        self.spent += 1
        old = None if draft.id is None else self.known(draft.id)
        if old is not None:
            if not how and self.is_refused_before_it_is_known(draft):  # on another bus
                self.refuse("BACKPRESSURE")
            if not self.is_same_message(old, sender, draft):
                self.row("worker.log.11")
                if self.choice("worker.log.11", "ID_CONFLICT", "the first message counts") == "ID_CONFLICT":
                    self.refuse("ID_CONFLICT")
                self.may_be_saved(draft)
                return old
            self.row("worker.log.44" if old in self.archived else "worker.log.09")
            self.may_be_saved(draft)
            return old
        if "backpressure" in self.features and self.is_held_back(draft.to, how):
            self.refuse("BACKPRESSURE")
        self.spent = 0
        seq = self.highest = self.born(Above, "seq", self.highest)
        message_id = self.born(FreshId, "id") if draft.id is None else draft.id
        numbered = ["worker.log.05"] if "seq" in self.features else []  # one without numbers can publish all the same
        self.row(*numbered, "worker.log.08" if draft.id is None else "worker.log.07")
        if draft.ref is not None and draft.text is not None:
            self.row("worker.blob.01", "worker.blob.02")
            self.blobs[draft.ref] = draft.text
            self.harm.pop(draft.ref, None)
        columns = (sender, draft.to, draft.type, draft.correlation_id, draft.in_reply_to, draft.text, draft.ref)
        row = Row(seq, message_id, self.now_ms, *columns)
        if "late_readers" not in self.features:  # on another bus
            row.known = frozenset(self.readers)
        if self.key is not None:
            row.signed = (self.key, row.columns())
        self.log.append(row)
        self.unnamed.append(row)
        return row

    def is_held_back(self, to: str | None, how: str) -> bool:
        """Is its recipient full? A broadcast has none."""
        if to is not None:
            return self.is_full(to, how)
        most = self.session.unread_max
        if most is None or not any(self.takes_room(agent) >= most for agent in self.cursors):
            return False
        return (
            self.choice("worker.limit.16: a broadcast", "is always taken", "waits for every agent") != "is always taken"
        )

    def is_refused_before_it_is_known(self, draft: Draft) -> bool:
        """Is a retry refused because its recipient is full?"""
        most = self.session.unread_max if "backpressure" in self.features else None
        if draft.to is None or most is None or self.takes_room(draft.to) < most:
            return False
        return self.choice("worker.limit.13: a retry", "needs no room", "needs room") == "needs room"

    def is_full(self, agent: str, how: str) -> bool:
        """Do so many messages lie before a recipient that one more is refused?"""
        waiting, most = self.takes_room(agent), self.session.unread_max
        if most is None:
            unasked = (
                self.choice("worker.limit.15: unasked", "no bound", f"{waiting} at most") if waiting else "no bound"
            )
            return unasked != "no bound" and waiting >= int(unasked.partition(" ")[0])
        self.row("worker.limit.13", "worker.limit.14", "worker.limit.16")
        if self.again(agent):
            self.row("worker.limit.17")
        if waiting < most:
            return False
        if how == "each" and self.choice("worker.limit.13: of a batch", "is bound", "is free") == "is free":
            return False
        over = self.choice("worker.limit.13: at the bound", "refused", "one more may wait", "taken")
        return over == "refused" or (over == "one more may wait" and waiting > most)

    def takes_room(self, agent: str) -> int:
        """The number of messages before an agent that hold its senders back."""
        unread = self.unread(agent)
        direct = [row for row in unread if row.to_agent is not None]
        if len(direct) < len(unread) and self.choice("worker.limit.16: unread", "counts", "does not count") != "counts":
            unread = direct  # on another bus
        return len(unread) + len(self.again(agent))

    def is_same_message(self, old: Row, sender: str, draft: Draft) -> bool:
        """A retry says the same as the first time: numbers as they were written, members in any order."""
        columns = (draft.to, draft.type, draft.correlation_id, draft.in_reply_to)
        if columns != (old.to_agent, old.type, old.correlation_id, old.in_reply_to):
            return False
        if sender != old.from_agent and not self.may_be_anybodys(old):
            return False
        if old.ref is not None and (old.ref in self.harm or old.text is None):
            self.row("worker.blob.17")
            return draft.ref == old.ref  # only the hash of the blob's content is known
        if old.text is None or draft.text is None:
            return old.text is draft.text
        return self.is_same_payload(old.text, draft.text)

    def may_be_anybodys(self, old: Row) -> bool:
        """Is a message that another agent sends under its id a retry of it?"""
        choice = self.choice("worker.log.11: of another sender", "no retry", "a retry", "a retry until it is archived")
        return choice == "a retry" or (choice == "a retry until it is archived" and old not in self.archived)

    def is_same_payload(self, stored: str, sent: str) -> bool:
        """1 and 1.0 are one number in some languages and two in others."""
        if stored == sent:
            return True
        try:
            theirs, mine = json.loads(stored), json.loads(sent)
        except ValueError:
            return False
        if json.dumps(theirs, sort_keys=True) == json.dumps(mine, sort_keys=True):
            return self.choice("worker.log.11: members in another order", "the same", "another") == "the same"
        return same_json(theirs, mine) and self.choice("1 and 1.0, in a retry", "another", "the same") == "the same"

    def may_be_saved(self, draft: Draft) -> None:
        """A blob is saved before its row, so a call that is refused late may leave one, or mend one."""
        if draft.ref is not None and draft.text is not None:
            self.scraps[draft.ref] = draft.text
            if draft.ref in self.harm:
                self.harm[draft.ref] = UNSURE

    # -- delivery

    def unread(self, agent: str) -> list[Row]:
        """The messages to the agent, or to all, above its cursor."""
        log = self.log if self.features >= USUAL else fewer.for_reader(self.log, agent, self.features)
        return those_above(log, self.position(agent), (None, agent))

    def again(self, agent: str) -> list[Row]:
        """Its redriven messages."""
        if not self.redriven:
            return []
        return [row for row in self.log if (agent, plain(row.seq)) in self.redriven]

    def poll(self, agent_id: Any, limit: Any = 100, wait_ms: Any = 0) -> dict[str, Any]:
        """Redriven messages first, then unread ones, in seq order. Never moves the cursor."""
        self.name(agent_id)
        self.whole("limit", limit)
        self.whole("wait_ms", wait_ms)
        if wait_ms and "wait" not in self.features:  # on another bus
            raise DoesNotApply("wait_ms on a bus without wait")
        self.row("worker.cursor.01", "worker.cursor.03", "worker.cursor.04", "worker.cursor.05")
        what, needs = ("worker.route.02", "route") if self.unread(agent_id) else ("worker.cursor.20", "wait")
        if needs in self.features:  # on another bus
            self.row(what)
        if agent_id not in self.cursors and "late_readers" in self.features:
            self.row("worker.cursor.06")
        if not self.features >= USUAL and agent_id not in self.readers:  # on another bus
            self.readers.append(agent_id)
        redriven = self.again(agent_id)[:limit]
        if limit and not redriven and not self.unread(agent_id):
            self.least_s = wait_ms / 1000
        for row in redriven:
            self.row("worker.retry.10")
            self.redriven[agent_id, plain(row.seq)] = True
        return {"messages": [self.delivered(row) for row in (redriven + self.unread(agent_id))[:limit]]}

    def delivered(self, row: Row) -> dict[str, Any]:
        """A message as its reader sees it."""
        shown: dict[str, Any] = {**row.columns(), "payload": None, "payload_error": None}
        shown["to_agent"] = Cited(row.to_agent, ("worker.route.01",))
        shown["correlation_id"] = Cited(row.correlation_id, ("worker.log.16",))
        shown["in_reply_to"] = Cited(row.in_reply_to, ("worker.log.17",))
        shown["from_agent"] = Cited(row.from_agent, ("worker.log.14",))
        shown["ts_ms"] = Cited(row.ts_ms, ("worker.log.13",))
        shown["payload_ref"] = Told(row.ref)
        error, rows = self.payload_error(row)
        if error is not None:
            self.bound(error.upper(), *rows)  # withheld is not refused
            withheld = Told(row.text) if error == "decode_failed" else None  # a non-JSON text may be shown as it is
            return {**shown, "payload": Cited(withheld, rows), "payload_error": Cited(error, rows)}
        if row.text is not None:
            rows = ("worker.log.19",) if row.ref is None else ("worker.blob.03",)
            value = self.value(row.text)
            shown["payload"] = Cited(AtLeast(value.value) if announces(row.type, value.value) else value, rows)
        return shown

    def payload_error(self, row: Row) -> tuple[str | None, tuple[str, ...]]:
        """Why a payload is withheld."""
        if self.key is not None:
            if row.signed != (self.key, row.columns()):
                return "bad_signature", ("worker.log.46", "worker.log.47")
            if self.choice("worker.log.48: what is signed", "arrives whole", "is withheld") == "is withheld":
                return "bad_signature", ("worker.log.48",)  # on another bus
        if row.ref is not None and not is_ref(row.ref):
            return "blob_invalid", ("worker.blob.13",)
        if row.ref is not None and (row.ref not in self.blobs or self.harm.get(row.ref) == LOST):
            return "blob_missing", ("worker.blob.09",)
        if row.ref is not None and row.ref in self.harm:
            return "blob_corrupt", ("worker.blob.11", "worker.blob.12")
        if row.text is not None and not is_json_text(row.text):
            return "decode_failed", ("worker.blob.10",)
        return None, ("worker.log.48",)

    def value(self, text: str) -> Json:
        """A stored payload, decoded."""
        value = json.loads(text)
        if "numbers" in self.dialects or any(abs(n) > 2**53 for n in whole_numbers(value)):
            return Json(value, self.choice("numbers", "exact", "doubles") == "doubles")
        return Json(value)

    def ack(self, agent_id: Any, seq: Any) -> dict[str, Any]:
        """Everything up to seq is processed: forward only, and only existing messages (W5). Settles the counts."""
        self.name(agent_id)
        self.whole("seq", seq)
        # The number of the last message, which nobody told yet, may be this one.
        undecided_if(seq > self.newest and any(row.number == math.inf for row in self.log[-1:]))
        if seq > self.newest and not self.is_taken_for_used_up(seq):
            self.row("worker.cursor.24" if seq <= (plain(self.highest) or 0) else "worker.cursor.09")
            self.refuse("INVALID_ARGUMENT")
        if self.archived:
            self.row("worker.log.45")
        self.row("worker.cursor.07" if seq > self.position(agent_id) else "worker.cursor.11", "worker.cursor.08")
        self.advance(agent_id, seq)
        for key in [key for key in self.deliveries if key[0] == agent_id and key[1] <= seq]:
            del self.deliveries[key]
        for key in [key for key in self.redriven if key[0] == agent_id and key[1] <= seq and self.is_settled(key)]:
            del self.redriven[key]
        return {"last_acked_seq": Told(self.position(agent_id))}

    def is_taken_for_used_up(self, seq: int) -> bool:
        """A number that the bus gave, but no message has: may the bus take it as an acknowledgement?

        The bus alone knows whether a call that stored nothing used up a number.
        """
        given = plain(self.highest) or 0
        if seq > given + self.spent or self.choice("worker.cursor.24", "refused", "taken") == "refused":
            return False
        return seq <= given or self.either()  # on another bus

    def is_settled(self, key: tuple[str, int]) -> bool:
        """Does an acknowledgement settle a redriven message? Yes, once it was handed out again."""
        how = "worker.retry.10: an ack before it came again"
        return self.redriven[key] or self.choice(how, "leaves it", "settles it") == "settles it"

    @property
    def newest(self) -> float:
        """The highest seq of a message, archived or not."""
        numbers = (row.number for row in [*self.archived[-1:], *self.log[-2:]] if row.number < math.inf)
        return max(numbers, default=0)

    def advance(self, agent: str, seq: int) -> None:
        """The cursor never goes back; its time is that of the last acknowledgement, or of the last that moved it."""
        at_ms = self.now_ms
        if agent in self.cursors and seq <= self.position(agent):
            choice = self.choice("the time of a cursor that stays", "of the last ack", "of the last move")
            at_ms = at_ms if choice == "of the last ack" else self.cursors[agent][1]
        self.cursors[agent] = max(self.position(agent), seq), at_ms

    # -- the processing loop and its dead letters

    def process_loop(
        self, agent_id: Any, limit: Any = 100, fail_ids: Any = ()
    ) -> Generator[None, None, dict[str, Any]]:
        """Poll; then count, handle and acknowledge each. Another call may come in between any two of these."""
        if fail_ids != () and type(fail_ids) is not list:
            self.refuse("INVALID_ARGUMENT", "worker.limit.01")
        failing = {self.text(fail_id) for fail_id in fail_ids}
        polled = self.poll(agent_id, limit)["messages"]
        handled: list[str] = []
        for message in polled:
            seq, message_id = plain(message["seq"]), plain(message["id"])
            yield
            if self.session.deliveries_max is not None:
                if self.buried(agent_id, seq):
                    continue
                yield
                self.deliveries[agent_id, seq] = self.deliveries.get((agent_id, seq), 0) + 1
            if message_id in failing:
                self.row("worker.retry.02", "worker.retry.03")
                if self.session.deliveries_max is None:
                    self.row("worker.retry.11")
                else:
                    yield
                    self.buried(agent_id, seq)
                return {"handled": handled, "failed": message_id}
            yield
            handled.append(message_id)
            self.ack(agent_id, seq)
        self.row("worker.retry.01")
        return {"handled": handled, "failed": None}

    def buried(self, agent: str, seq: int) -> bool:
        """Delivered too often without an acknowledgement: a dead letter now, and the queue goes on (W11)."""
        count, most = self.deliveries.get((agent, seq), 0), self.session.deliveries_max
        if most is None or count < most:
            return False
        self.row("worker.retry.08", "worker.retry.09")
        if self.choice("worker.retry.08: delivered too often", "set aside", "goes on") == "goes on":
            return False
        self.dead[agent, seq] = count, self.now_ms
        del self.deliveries[agent, seq]
        self.redriven.pop((agent, seq), None)
        self.advance(agent, seq)
        return True

    def dead_letters(self, agent_id: Any) -> dict[str, Any]:
        """The agent's own, in seq order."""
        self.name(agent_id)
        self.row("worker.retry.08")
        rows = []
        for row in self.log:
            if (agent_id, plain(row.seq)) in self.dead:
                count, dead_at_ms = self.dead[agent_id, plain(row.seq)]
                rows.append({**self.delivered(row), "deliveries": Told(count), "dead_at_ms": Told(dead_at_ms)})
        return {"messages": rows}

    def redrive(self, agent_id: Any, seq: Any) -> dict[str, Any]:
        """A dead letter comes again, in front, its deliveries forgotten."""
        self.name(agent_id)
        self.whole("seq", seq)
        self.row("worker.retry.10")
        addressees = sorted(agent for agent, dead in self.dead if dead == seq)
        is_anothers = bool(addressees) and agent_id not in addressees
        if is_anothers and self.choice("worker.retry.10: another agent's letter", "stays", "comes again") != "stays":
            agent_id = addressees[0]  # on another bus
        if self.dead.pop((agent_id, seq), None) is None:
            return {"redriven": False}
        if self.choice("worker.retry.10: what was redriven", "comes again", "is gone") == "comes again":
            self.redriven[agent_id, seq] = False
        return {"redriven": True}

    def poll_intervals(self, polls: Any) -> dict[str, Any]:
        """200 ms after messages, half as much again after each empty poll, at most 2 s."""
        if type(polls) is not list or any(type(poll) is not bool for poll in polls):
            self.refuse("INVALID_ARGUMENT", "worker.limit.01")
        self.row("worker.retry.04", "worker.retry.05", "worker.retry.06", "worker.retry.07")
        pauses, pause_ms = [], 200.0
        for had_messages in polls:
            pause_ms = 200.0 if had_messages else min(pause_ms * 1.5, 2000.0)
            pauses.append(Json(pause_ms))
        return {"intervals_ms": pauses}

    # -- claims

    def try_claim_task(self, task_id: Any, agent_id: Any) -> dict[str, Any]:
        """False only for a live claim, the caller's own included (W8, W9). Every grant has a higher token (W10)."""
        self.name(task_id)
        self.name(agent_id)
        claim = self.claims.get(task_id)
        if claim is not None and self.is_live(claim):
            if claim.claimed_by != agent_id:
                self.row("worker.lease.03")
                return {"claimed": False}
            self.row("worker.lease.04")
            again = self.choice("worker.lease.04", "refused", "the lease begins anew", "a new grant")
            if again == "refused":  # always; not on another bus
                return {"claimed": False}
            if again == "the lease begins anew":  # on another bus
                claim.until_ms = self.now_ms + self.session.lease_ms
                return {"claimed": True, "token": Told(self.tokens[task_id]), "lease_until_ms": Told(claim.until_ms)}
        elif claim is not None:
            self.row("worker.lease.05")
        elif task_id in self.tokens:
            self.row("worker.lease.13", "worker.lease.20")
        if task_id not in self.tokens or self.choice("worker.lease.17", "rises", "stands still") == "rises":
            self.tokens[task_id] = self.born(Above, "token", self.tokens.get(task_id, 0))
        token = self.tokens[task_id]
        until_ms = self.now_ms + self.session.lease_ms
        self.claims[task_id] = Claim(agent_id, self.now_ms, until_ms)
        self.strange_claims.discard(task_id)
        self.row("worker.lease.01", "worker.lease.02", "worker.lease.15")
        return {
            "claimed": True,
            "token": Cited(self.told("fencing", token), ("worker.lease.17",)),
            "lease_until_ms": Cited(Told(until_ms), ("worker.lease.02", "worker.lease.24")),
        }

    def is_live(self, claim: Claim) -> bool:
        """Until its end; at that very millisecond it is over."""
        if claim.until_ms == self.now_ms:
            self.row("worker.lease.07")
            return self.choice("worker.lease.07", "expired", "live") == "live"
        return claim.until_ms > self.now_ms

    def keeps(self, task_id: Any, agent_id: Any, token: Any, row: str) -> bool:
        """Is the claim the caller's, and the token, if one is given, that of the latest grant?"""
        self.name(task_id)
        self.name(agent_id)
        if token is not None:
            self.whole("token", token)
        claim = self.claims.get(task_id)
        if claim is None or claim.claimed_by != agent_id:
            return False
        if token is not None and "fencing" in self.features:
            if task_id in self.strange_claims:
                how = self.choice(
                    "a token beside a stranger's claim", "is that of the latest grant", "is not looked at", "fits none"
                )
                if how != "is that of the latest grant":  # on another bus
                    return how == "is not looked at"
            self.row("worker.lease.18", "worker.lease.19")
            if token == plain(self.tokens.get(task_id)):
                return True
            if token == 0 and self.choice(f"{row}: a token of 0", "is one", "is none") == "is none":
                return True
            return self.choice(f"{row}: another token", "is refused", "is not looked at") == "is not looked at"
        return True

    def renew_claim(self, task_id: Any, agent_id: Any, token: Any = None) -> dict[str, Any]:
        """From now on for the lease's time; after expiry too, while nobody retook it (W9)."""
        if not self.keeps(task_id, agent_id, token, "worker.lease.18"):
            self.row("worker.lease.10", "worker.lease.12")
            return {"renewed": False}
        claim = self.claims[task_id]
        if claim.until_ms <= self.now_ms:
            self.row("worker.lease.11")
            if self.choice("worker.lease.11", "renewed", "refused") == "refused":
                return {"renewed": False}
        self.row("worker.lease.08")
        claim.until_ms = self.now_ms + self.session.lease_ms
        claim.said_by = "worker.lease.08", "worker.lease.09"
        return {"renewed": True, "lease_until_ms": Cited(Told(claim.until_ms), ("worker.lease.09",))}

    def release_claim(self, task_id: Any, agent_id: Any, token: Any = None) -> dict[str, Any]:
        """The task is free; somebody else's claim stays."""
        if not self.keeps(task_id, agent_id, token, "worker.lease.19"):
            self.row("worker.lease.14")
            return {"released": Told(False)}
        is_over = self.claims[task_id].until_ms <= self.now_ms
        if is_over and self.choice("worker.lease.11: a release", "done", "refused") == "refused":  # on another bus
            return {"released": Told(False)}
        del self.claims[task_id]
        self.row("worker.lease.13")
        return {"released": Told(True)}

    # -- presence

    def heartbeat(self, agent_id: Any, status: Any, current_task: Any = None, progress: Any = None) -> dict[str, Any]:
        """One row for each agent: its latest heartbeat."""
        self.name(agent_id)
        if type(status) is not str or status not in ("idle", "working", "blocked"):
            self.row("worker.presence.24")
            taken = self.choice("worker.presence.24", "refused", "taken", "taken, even an empty one")
            if taken != "taken, even an empty one" or status != "":  # always; not on another bus
                self.text(status)
            if taken == "refused":  # always; not on another bus
                self.refuse("INVALID_ARGUMENT")
        self.optional(current_task)
        if type(progress) is int:
            self.whole("progress", progress)
        elif progress is not None and type(progress) is not float:
            self.refuse("INVALID_ARGUMENT", "worker.limit.01")
        elif progress is not None and not math.isfinite(progress):
            self.refuse("INVALID_ARGUMENT", "worker.limit.06")
        self.row("worker.presence.01", "worker.presence.02", "worker.presence.03")
        if agent_id in self.beats:
            self.row("worker.presence.10")
        shown = None if progress is None else Json(float(progress))
        columns = {"status": status, "current_task": current_task, "progress": shown}
        self.beats[agent_id] = {"agent_id": agent_id, "ts_ms": self.now_ms, **columns}
        return {}

    def liveness(self) -> dict[str, Any]:
        """Every agent that ever sent a heartbeat, by its age."""
        agents = []
        for beat in self.beats.values():
            if type(beat["ts_ms"]) not in (int, Moment):  # another program's
                if self.choice(NO_TIME, "is passed over", "is shown") == "is shown":  # on another bus
                    agents.append({**self.beat(beat), "age_ms": ANYTHING, "state": ANYTHING})
                continue
            age_ms = self.now_ms - beat["ts_ms"]
            age = {"age_ms": Cited(age_ms, ("worker.presence.08",)), "state": self.state_at(age_ms)}
            agents.append({**self.beat(beat), **age})
        self.row("worker.presence.01", "worker.presence.03")
        return {"agents": AnyOrder(agents, ("agent_id",))}

    def state_at(self, age_ms: int) -> Cited:
        """By the rule "30s = WARN" a state begins at its age, by the seed's query (<) behind it: both are right."""
        begun = [(state, row) for at_ms, state, row in SILENCE if age_ms >= at_ms]
        state, row = (*begun, ("ALIVE", "worker.presence.07"))[0]
        if any(age_ms == at_ms for at_ms, _, _ in SILENCE):
            before = (*begun, ("ALIVE", ""))[1][0]
            return Cited(Fits(f"{before} or {state}", lambda seen: seen in (before, state)), (row,))
        return Cited(state, (row,))

    def beat(self, row: dict[str, Any]) -> dict[str, Any]:
        """A heartbeat as it is shown; another program's number may not be one."""
        progress = row["progress"]
        return row if progress is None or type(progress.value) is float else {**row, "progress": ANYTHING}

    def status(self, limit: Any = 100) -> dict[str, Any]:
        """The newest heartbeats and state changes in the log, the newest first."""
        self.whole("limit", limit)
        self.row("worker.presence.18", "worker.presence.19")
        newest = [row for row in reversed(self.log) if row.type in ("heartbeat", "state_change")][:limit]
        rows = []
        for row in newest:
            is_readable = row.ref is None and row.text is not None and self.payload_error(row)[0] is None
            payload = self.value(row.text) if is_readable and row.text is not None else None
            at = self.choice("worker.presence.19: the column of the time", "ts_ms", "ts")
            rows.append({"from_agent": row.from_agent, "type": row.type, at: row.ts_ms, "payload": payload})
        return {"rows": rows}

    def worker_state(self, worker: Any) -> dict[str, Any]:
        """Null for one that nobody assigned."""
        self.name(worker)
        self.row("worker.presence.12")
        return {"worker": worker, "state": self.workers.get(worker)}

    def transition(self, worker: Any, to_state: Any, from_state: Any = None) -> dict[str, Any]:
        """Compare and set (W15). A repeat changes nothing; a change is announced to all."""
        self.name(worker)
        for state in (to_state, *([] if from_state is None else [from_state])):
            if type(state) is not str:
                self.refuse("INVALID_ARGUMENT", "worker.limit.01")
            if state not in WAYS:  # no sentence says whether that is a bad value, or a way that does not lead there
                self.refuse(ANY_CODE, "worker.limit.01")
        if not self.leads(from_state, to_state):
            self.refuse("STATE_CONFLICT", "worker.presence.14")
        present = self.workers.get(worker)
        announced = self.draft({"type": "state_change", "payload": {"from": from_state, "to": to_state}})
        if present == to_state:
            self.row("worker.presence.16")
            if self.choice("worker.presence.16: a repeat", "is silent", "is announced") != "is silent":
                self.append(worker, announced, "")  # on another bus
            return {"worker": worker, "state": to_state, "changed": Told(False)}
        if present != from_state:
            self.refuse("STATE_CONFLICT", "worker.presence.15")
        self.row("worker.presence.11", "worker.presence.13" if to_state in ENDS else "worker.presence.12")
        self.workers[worker] = to_state
        self.spoiled_mirrors.discard(worker)
        self.append(worker, announced, "")
        return {"worker": worker, "state": to_state, "changed": Told(True)}

    def leads(self, from_state: str | None, to_state: str) -> bool:
        """Is there a way from one state to the other? The seed draws none."""
        is_way = to_state in WAYS[from_state]
        usual, other = ("leads on", "leads nowhere") if is_way else ("leads nowhere", "leads on")
        return self.choice(f"worker.presence.14: from {from_state} to {to_state}", usual, other) == "leads on"

    # -- blobs, search

    def save_blob(self, content: Any) -> dict[str, Any]:
        """The same value is the same blob; one that was damaged is whole again."""
        text = self.json(content)
        ref = ref_of(text)
        self.row("worker.blob.04", "worker.blob.05")
        self.blobs[ref] = text
        self.harm.pop(ref, None)
        return {"ref": ref}

    def load_blob(self, ref: Any) -> dict[str, Any]:
        """Verified against its name, which is checked before it becomes a path."""
        if type(ref) is not str:
            self.refuse("INVALID_ARGUMENT", "worker.limit.01")
        if not is_ref(ref):
            self.refuse("BLOB_INVALID", "worker.blob.14")
        if ref not in self.blobs or self.harm.get(ref) == LOST:
            self.refuse("BLOB_MISSING", "worker.blob.15")
        if ref in self.harm:
            self.refuse("BLOB_CORRUPT", "worker.blob.11")
        self.row("worker.blob.06")
        return {"content": self.value(self.blobs[ref])}

    def search(self, query: Any, limit: Any = 100) -> dict[str, Any]:
        """Messages with every word, in type or payload, also archived ones (0005, 0009). The limit keeps the oldest."""
        words = [tokens(word) for word in self.text(query).split()]
        self.whole("limit", limit)
        self.row("worker.search.01", "worker.search.02", "worker.search.03", "worker.search.04", "worker.search.06")
        if QUERY_SYNTAX.search(query) and self.choice("worker.search.04", "words", "query syntax") == "query syntax":
            if self.either():  # on another bus
                self.refuse("INVALID_ARGUMENT")
            return {"messages": ANY_MESSAGES}
        rows = []
        is_archive_in = not self.archived or self.choice("worker.search.08", "found", "not found") == "found"
        searched = self.everything() if is_archive_in else self.log
        if self.deleted and self.counts_deleted():  # on another bus
            searched = sorted([*searched, *self.deleted], key=lambda row: row.number)
        for row in searched:
            index = self.choice("search index", FIRST_SEARCH, "made by the publish", EACH_SEARCH)
            if row not in self.indexed or index == EACH_SEARCH:
                text = row.text if self.is_searched(row, index) else None
                self.indexed[row] = tokens(row.type), words_of(text)
            columns = self.indexed[row]
            if any(words) and all(any(holds(column, word) for column in columns) for word in words):
                rows.append(row)
        if (
            len(rows) > limit
            and self.choice("worker.search.06", "bounds the answer", "is passed over") != "bounds the answer"
        ):
            limit = len(rows)  # on another bus
        shown = [self.delivered(row) for row in rows[:limit]]
        return {"messages": shown if len(rows) > limit else AnyOrder(shown, ("seq",))}

    def counts_deleted(self) -> bool:
        """Does a search still find messages that another program deleted?"""
        self.row("worker.search.09")
        return self.choice("worker.search.09: what was deleted", "is not found", "is found") == "is found"

    def is_searched(self, row: Row, index: str) -> bool:
        """Do the words of a payload go into the index? Those of a blob only while it can be read."""
        if row.ref is None:
            return True
        if self.choice("worker.search.07: a payload in a blob", "is searched", "is not searched") == "is not searched":
            return False
        return row.ref not in self.harm or index == "made by the publish"

    # -- export, archive, dump

    def export_to_jsonl(self) -> dict[str, Any]:
        """Append the messages that neither the file's last whole line nor the database has as exported."""
        is_told = plain(self.exported_to) is not None  # else nobody told the number of the last one yet
        lines = self.in_file[-1:] if is_told else self.in_file
        seqs = (plain(seq) for seq in (self.exported_to, *(line["seq"] for line in lines)))
        last = max((seq for seq in seqs if seq is not None), default=0)
        if self.exported_to != 0 and not self.in_file:
            self.row("worker.export.14")
            if self.choice("worker.export.14: a new file", "goes on", "begins anew") == "begins anew":
                last = 0  # on another bus
        self.row("worker.export.01", "worker.export.05", "worker.export.06", "worker.export.07")
        there = {line["id"] for line in self.in_file}
        new = [
            row for row in self.everything() if row.number > last and not (row.number == math.inf and row.id in there)
        ]
        self.in_file += [row.columns() for row in new]
        self.exported_to = new[-1].seq if new else last
        return {"last_seq": Told(self.exported_to)}

    def archive(self) -> dict[str, Any]:
        """Archive messages that every cursor, the addressee's too, has passed; dead and redriven ones stay (0009)."""
        below = min((seq for seq, _ in self.cursors.values()), default=0)
        self.row("worker.log.42", "worker.log.43")
        kept = {seq for _, seq in [*self.dead, *self.redriven]}
        going = {
            row
            for row in self.log
            if row.number <= below
            and plain(row.seq) not in kept
            and (row.to_agent is None or row.to_agent in self.cursors)
        }
        self.archived = sorted([*self.archived, *going], key=lambda row: row.number)
        self.log = [row for row in self.log if row not in going]
        return {"archived": len(going), "below_seq": Told(below)}

    def dumped(self, row: Row) -> dict[str, Any]:
        """The row, its payload as any language may write it."""
        where = Cited(row.ref, ("worker.blob.01", "worker.blob.02"))  # compared first: it decides what the payload is
        columns = {"payload_ref": where} | row.columns() | {"payload_ref": where}
        if type(text := columns["payload"]) is str:
            columns["payload"] = JsonText(text, row.type, self.dialects.get("numbers") == "doubles")
        return columns

    def dump(self) -> dict[str, Any]:
        """Every table that says what happened."""
        position = [
            {"agent_id": agent, "last_acked_seq": seq, "updated_at_ms": Told(at)}
            for agent, (seq, at) in self.cursors.items()
        ]
        claims = [claim.columns(task) for task, claim in self.claims.items()]
        dead = [
            {"agent_id": agent, "seq": seq, "deliveries": count, "dead_at_ms": at}
            for (agent, seq), (count, at) in self.dead.items()
        ]
        tokens_of = [{"task_id": task, "token": token} for task, token in self.tokens.items()]
        return {
            "messages": Cited([self.dumped(row) for row in self.log], ("worker.log.06", "worker.limit.09")),
            "archived": self.told("archive", Cited([self.dumped(row) for row in self.archived], ("worker.log.42",))),
            "cursors": self.of_noun(
                "cursor", Cited(AnyOrder(position, ("agent_id",)), ("worker.cursor.08", "worker.cursor.12"))
            ),
            "task_claims": self.of_noun(
                "lease", Cited(AnyOrder(claims, ("task_id",)), ("worker.lease.24", "worker.lease.15"))
            ),
            "heartbeats": self.of_noun(
                "presence",
                Cited(
                    AnyOrder([self.beat(beat) for beat in self.beats.values()], ("agent_id",)), ("worker.presence.01",)
                ),
            ),
            "dead_letters": self.told("dead_letter", Cited(AnyOrder(dead, ("agent_id", "seq")), ("worker.retry.08",))),
            "task_tokens": Told(Cited(AnyOrder(tokens_of, ("task_id",)), ("worker.lease.17",))),
            "export_last_seq": Cited(Told(self.exported_to), ("worker.export.06",)),
            "integrity": Told("ok"),
        }
