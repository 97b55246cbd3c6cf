"""clocks: no message is shown before its sending began, or the parts are of several hosts and do not say so.

Such a history is put together wrongly: the order of its events says nothing, so no check has an answer.
"""

from __future__ import annotations

from busproof.oracle.checks.facts import Appended, Facts


def disagree(facts: Facts) -> str:
    """The first message whose earliest attempt began after an answer had shown it; empty if there is none."""
    early = {(a.lane, a.message) for a in facts.appended if a.shown is not None}
    first: dict[tuple[str, str | None], Appended] = {}
    for sent in facts.appended if early else []:
        key = (sent.lane, sent.message)
        if key in early and (key not in first or sent.begin < first[key].begin):
            first[key] = sent
    shown = [(a.shown, a.begin) for a in first.values() if a.shown is not None]
    if not shown:
        return ""
    end, begin = min(shown)
    return f"clocks disagree: event {end} shows a message whose sending began at event {begin}"
