"""send_durable: what was acknowledged is a message or a dead letter in the final state, or its time was over."""

from __future__ import annotations

from busproof.checks.comms_facts import CommsFacts
from busproof.checks.verdict import Verdict, Witness, judged


def check(facts: CommsFacts) -> Verdict:
    """Sets: each acknowledged id against the final state; and no id was given twice."""
    acknowledged = [send for send in facts.sends if send.outcome == "ok" and send.id is not None]
    witnesses = []
    first: dict[str | None, int] = {}
    for send in sorted(acknowledged, key=lambda send: send.end):
        before = first.setdefault(send.id, send.end)
        if before != send.end and not send.is_chosen:
            witnesses.append(Witness((before, send.end), "id_given_twice"))
    if facts.dump_at is not None:
        there = {*facts.messages, *facts.letters}
        witnesses += [
            Witness((send.end,), "message_lost")
            for send in acknowledged
            if send.id not in there
            and send.end < facts.dump_at
            and not (send.expires_ms is not None and send.expires_ms <= facts.newest_ms)
        ]
    return judged("send_durable", witnesses, len(facts.sends), facts.unknown_because or facts.no_dump)
