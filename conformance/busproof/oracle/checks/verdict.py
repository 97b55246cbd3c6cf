"""The answer of a check: valid, invalid with witnesses, or unknown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Judgement = Literal["valid", "invalid", "unknown"]
NOTHING = "the history has no such operation"

# The meaning of each kind of violation, with places for its numbers. The Spark checks fill the same sentences.
WHY = {
    # integrity
    "malformed_answer": "an answer, or a row of a state, is not what the protocol says",
    # order
    "seq_doubled": "two messages were acknowledged under seq {a}",
    "id_moved": "one message was acknowledged under seq {a} and under seq {b}",
    "order_reversed": "seq {a} was returned before the append that got the smaller seq {b} began",
    "batch_turned": "a message of a batch got seq {a}, and one that stands before it in the batch seq {b}",
    "gap": "a lane's final state has seq {b} right after seq {a}",
    # durable
    "id_given_twice": "two sends were answered with the same id",
    "called_new": "a retry of a message that had been acknowledged was answered as a new one",
    "lost": "a message that was acknowledged (under seq {a}; 0: none told) is not in the final state",
    "never_shown": "a message that was acknowledged (under seq {a}; 0: none told) was never shown to its reader",
    "shown_twice": "a message was shown to one reader as two: under seq {a} and under seq {b} (0: none told)",
    "seq_changed": "a message acknowledged under seq {a} stands under seq {b} in the final state",
    "row_doubled": "a message stands {a} times in the final state",
    "phantom": "the final state holds a message that nobody sent (seq {a}; 0: none told)",
    "refused_but_stored": "a send that was certainly refused is in the final state (seq {a}; 0: none told)",
    # content
    "altered": "a message holds other content than any that was sent under its name",
    "differs": "a message holds other content here, or a topic has another name, than where it was first shown",
    "chain_broken": "the hash of a message is not the one that its fields have, or that the next one follows",
    # polls and syncs
    "unordered": "an answer holds seq {b} after seq {a}",
    "misdelivered": "a poll delivered seq {a}, which is addressed to another agent",
    "delivered_otherwise": "what was delivered as seq {a} is not what the final state holds there",
    "skipped": "an answer passed over seq {a} on its way up to seq {b}",
    "stale": "an answer with room, or that says it is all, lacks seq {a}, acknowledged before the call began",
    "own_message": "a sync returned seq {a}, which is the reader's own message",
    "cursor_moved": "a sync without auto_advance moved the cursor to {a}; acknowledged was {b}",
    # acks
    "redelivered": "seq {a} was delivered after seq {b} had been acknowledged",
    "ack_went_back": "an ack was answered with {a} after {b} had been acknowledged",
    "ack_beyond": "an ack of seq {a} was accepted though the newest seq is {b}",
    "cursor_ahead": "a cursor is {a}; the furthest that its reader had acknowledged by then is {b}",
    "cursor_beyond": "a cursor is {a} in an answer; the newest seq of its log is {b}",
    "cursor_lost": "the final cursor is {a} though {b} was acknowledged",
    # lease
    "overlap": "the key was granted at {b} ms while another lease of it ran until {a} ms",
    "token_not_rising": "a grant got token {b} after one with token {a}",
    "refused_though_free": "a claim was refused at {a} ms, when no lease of the key can have lived",
    "renewed_not_held": "a renewal was granted to an agent that had not claimed the key, or had released it",
    "released_not_held": "a release was granted to an agent that had not claimed the key, or had released it",
    "renewed_after_retake": "a renewal was granted after the key had been granted to another",
    "released_after_retake": "a release was granted after the key had been granted to another",
    "claimed_by_another": "a message was claimed by an agent that is not its addressee",
    "claimed_after_done": "a message was claimed after it had been completed",
    "shown_after_done": "a message was shown to its reader after that had completed it",
    "lease_too_short": "a lease was granted until {a} ms, and had to run until {b} ms",
    # export
    "export_doubled": "seq {a} stands {b} times in the export",
    "export_unordered": "seq {b} stands after seq {a} in the export",
    "export_missing": "seq {a} is not in the export",
    "export_of_nothing": "seq {a} of the export is not in the final state",
    "export_went_back": "an export was answered that it reached {a} after one had reached {b}",
    "export_torn": "the export holds something that is not a whole line",
    # receives
    "over_limit": "an answer holds {a} messages, {b} were asked for",
    "misreceived": "message number {a} of the answer is addressed to another agent",
    "channel_not_asked": "message number {a} of the answer is of a channel that was not asked for",
    "received_from_nobody": "message number {a} of the answer was sent by nobody",
    "received_twice": "an answer of {a} messages holds only {b} different ones",
    "out_of_order": "message number {a} of the answer stands before number {b}, which should come first",
    # durable and work of mailbox
    "unseen": "a message whose send was answered was never shown to its reader, who received to the end",
    "gone": "a message was shown, was not acked, and is not in a later answer that had room",
    "passed_over": "a message is in no answer from the first position to the last",
    "doubled": "a message was shown twice",
    "undone": "a message was shown after an ack of it had been answered",
    "reversed": "a message was shown after one that its sender sent later",
    "leaked": "a message was shown to an agent that it was not sent to",
    "invented": "a message was shown that nobody sent",
    "never_came": "a job that was put came to nobody, though its queue was emptied",
    # dead_letters
    "buried_too_early": "a message is a dead letter without three failures; its last completion is event {a}",
    "not_buried": "a message failed three times and is no dead letter; its last completion is event {a}",
}


@dataclass(frozen=True, order=True)
class Witness:
    """One violation: the indexes of the offending events, and the kind and numbers that they show."""

    events: tuple[int, ...]
    kind: str
    a: int = 0
    b: int = 0
    of: str = field(default="", compare=False)  # the id that it is about, for humans alone

    def __post_init__(self) -> None:
        """A kind that no sentence tells would fail where the first witness of it is shown, in a run of somebody."""
        if self.kind not in WHY:
            raise ValueError(f"a witness of the kind {self.kind!r} has no sentence in WHY")

    @property
    def why(self) -> str:
        """The sentence for humans."""
        return WHY[self.kind].format(a=self.a, b=self.b) + (f": {self.of:.200}" if self.of else "")


@dataclass(frozen=True)
class Verdict:
    """A check's answer. `counted` is the number of operations it looked at; with none it is unknown, never valid."""

    check: str
    verdict: Judgement
    witnesses: list[Witness] = field(default_factory=list)
    counted: int = 0
    reason: str = ""  # the reason for unknown; of integrity also how the clocks of several hosts stand


def judged(check: str, witnesses: list[Witness], counted: int, unknown_because: str = "") -> Verdict:
    """A violation is invalid in any case; without one, a missing part, or nothing to look at, is unknown."""
    witnesses = sorted(set(witnesses))
    if witnesses:
        return Verdict(check, "invalid", witnesses, counted)
    if unknown_because or not counted:
        return Verdict(check, "unknown", [], counted, unknown_because or NOTHING)
    return Verdict(check, "valid", [], counted)
