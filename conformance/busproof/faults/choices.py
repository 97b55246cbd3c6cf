"""Is a bus that chose otherwise, where its seed is silent, judged VALID?

Two kinds of faults are free choices: those of SYSTEM/choices.py, written before their author looked at which choices
the kit follows, and those whose rows are all RESOLVED. Each is given the whole of `check`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from busproof.bus.warm import Warm
from busproof.contract import CONTRACTS
from busproof.contract.catalogue import CORPUS, EXPLORE, catalogue
from busproof.faults.record import Fault, started
from busproof.run.items import PARTICIPANT, Run
from busproof.systems import SYSTEMS

SEED = 1

# Choices on which a MUST row fails: a fault of the kit, or of the choice.
SINCE = "the model follows it since; it was not judged again"
BLAMED = {
    "comms a_strangers_line_is_the_start": "it doubles our lines, and since 0028 that breaks a MUST: no free choice",
    "topics outbox_survives_a_bad_ack": SINCE,
    "relay short_ids": "of two agents, files of one name have one id: a pass breaks off at the second",
}


def are_free(fault: Fault) -> bool:
    """Does no MUST and no SHOULD forbid it?"""
    rows = catalogue(fault.system)
    return fault.found_by in ("choice", "check") and all(rows[row].level == "RESOLVED" for row in fault.rows)


def failures(faults: list[Fault], warm: Warm | None = None, *, is_short: bool = False) -> dict[str, str]:
    """The MUST rows that fail in the first item in which one fails, on one bus that makes all these choices.

    Short leaves out the corpus, the search, and scenarios that wait for seconds.
    """
    system = faults[0].system
    with tempfile.TemporaryDirectory() as folder:
        run = Run(
            out=Path(folder),
            system=system,
            bus=started(system, [fault.id for fault in faults], warm),
            mixed_with=PARTICIPANT if CONTRACTS[system].participant else "",
            only=[],
            profile="",
            seed=SEED,
            known_file="",
            nightly=False,
        )
        try:
            for label, item in run.items():
                if is_short and _is_long(system, item):
                    continue
                failed = [result for result in run.play(label, item) if result.outcome == "fail"]
                if failed:
                    return {result.requirement: f"{label}: {result.why}" for result in failed}
        finally:
            run.finish()
    return {}


def _is_long(system: str, item: str) -> bool:
    scenario = SYSTEMS[system].scenarios.get(item)
    return item.partition(":")[0] in (CORPUS, EXPLORE) or (scenario is not None and scenario.is_long)
