"""The systems that can be judged: each contract, bound to all that the kit has for it. Nothing else lists systems.

To add one: docs/adding-a-system.md.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from busproof.bus.fleet import Fleet
from busproof.contract import CONTRACTS, Contract
from busproof.contract.history import Broken, Event, HistoryError
from busproof.oddities import comms as comms_oddities
from busproof.oddities import relay as relay_oddities
from busproof.oddities import timeline as timeline_oddities
from busproof.oddities import topics as topics_oddities
from busproof.oddities import worker as worker_oddities
from busproof.oddities.common import Look
from busproof.oracle.checks import (
    Check,
    Source,
    Verdict,
    acks,
    content,
    dead_letters,
    durable,
    export,
    judge,
    lease,
    mail,
    order,
    polls,
    receives,
    syncs,
)
from busproof.oracle.checks.extract import comms as comms_facts
from busproof.oracle.checks.extract import mailbox as mailbox_facts
from busproof.oracle.checks.extract import relay as relay_facts
from busproof.oracle.checks.extract import timeline as timeline_facts
from busproof.oracle.checks.extract import topics as topics_facts
from busproof.oracle.checks.extract import worker as worker_facts
from busproof.play.explore.comms import SPECIFICATION as COMMS_SPECIFICATION
from busproof.play.explore.mailbox import SPECIFICATION as MAILBOX_SPECIFICATION
from busproof.play.explore.relay import SPECIFICATION as RELAY_SPECIFICATION
from busproof.play.explore.stage import Specification
from busproof.play.explore.timeline import SPECIFICATION as TIMELINE_SPECIFICATION
from busproof.play.explore.topics import SPECIFICATION as TOPICS_SPECIFICATION
from busproof.play.explore.worker import SPECIFICATION as WORKER_SPECIFICATION
from busproof.play.scenarios import aged as _aged_scenarios  # noqa: F401
from busproof.play.scenarios import comms as _comms_scenarios  # noqa: F401  importing them registers them
from busproof.play.scenarios import mailbox as _mailbox_scenarios  # noqa: F401
from busproof.play.scenarios import relay as _relay_scenarios  # noqa: F401
from busproof.play.scenarios import timeline as _timeline_scenarios  # noqa: F401
from busproof.play.scenarios import topics as _topics_scenarios  # noqa: F401
from busproof.play.scenarios import worker as _worker_scenarios  # noqa: F401
from busproof.play.suite import SCENARIOS, Scenario
from busproof.play.workload import common
from busproof.play.workload.common import Workload
from busproof.play.workload.comms import WORKLOAD as COMMS_WORKLOAD
from busproof.play.workload.mailbox import WORKLOAD as MAILBOX_WORKLOAD
from busproof.play.workload.relay import WORKLOAD as RELAY_WORKLOAD
from busproof.play.workload.timeline import WORKLOAD as TIMELINE_WORKLOAD
from busproof.play.workload.topics import WORKLOAD as TOPICS_WORKLOAD
from busproof.play.workload.worker import WORKLOAD as WORKER_WORKLOAD


@dataclass(frozen=True)
class System:
    """The kit's parts for one system. An empty part is not judged: a system may begin with scenarios alone."""

    contract: Contract
    scenarios: Mapping[str, Scenario]  # by name
    workload: Workload | None
    facts: Source  # how the facts for its checks are taken from a history
    checks: Mapping[str, Check]  # by name, without `history.`
    oddities: tuple[Look, ...] = ()  # looks for things that no sound bus leaves in its files
    notes: tuple[Look, ...] = ()  # looks for things worth a look
    model: Specification | None = None  # the whole system, executable, with the search's knowledge of it
    processes_a_core: int = 2  # of `check`: they wait for their buses, some systems longer than others


SYSTEMS: dict[str, System] = {}


def register(*systems: System) -> None:
    """From now on they can be judged."""
    for system in systems:
        SYSTEMS[system.contract.system] = system
        CONTRACTS[system.contract.system] = system.contract


register(
    System(
        CONTRACTS["worker"],
        SCENARIOS["worker"],
        WORKER_WORKLOAD,
        worker_facts.SOURCE,
        {
            "order": order.check,
            "durable": durable.check,
            "content": content.check,
            "polls": polls.check,
            "acks": acks.check,
            "lease": lease.check,
            "export": export.check,
        },
        worker_oddities.ODDITIES,
        worker_oddities.NOTES,
        WORKER_SPECIFICATION,
    ),
    System(
        CONTRACTS["comms"],
        SCENARIOS["comms"],
        COMMS_WORKLOAD,
        comms_facts.SOURCE,
        {
            "durable": durable.check,
            "content": content.check,
            "receives": receives.check,
            "lease": lease.check_deliveries,
            "dead_letters": dead_letters.check,
        },
        comms_oddities.ODDITIES,
        comms_oddities.NOTES,
        COMMS_SPECIFICATION,
    ),
    System(
        CONTRACTS["relay"],
        SCENARIOS["relay"],
        RELAY_WORKLOAD,
        relay_facts.SOURCE,
        {"durable": durable.check, "order": order.check, "content": content.check},
        relay_oddities.ODDITIES,
        relay_oddities.NOTES,
        RELAY_SPECIFICATION,
        processes_a_core=4,
    ),
    System(
        CONTRACTS["timeline"],
        SCENARIOS["timeline"],
        TIMELINE_WORKLOAD,
        timeline_facts.SOURCE,
        {
            "order": order.check,
            "durable": durable.check,
            "content": content.check,
            "receives": receives.check,
            "lease": lease.check_deliveries,
        },
        timeline_oddities.ODDITIES,
        timeline_oddities.NOTES,
        TIMELINE_SPECIFICATION,
        processes_a_core=4,
    ),
    System(
        CONTRACTS["topics"],
        SCENARIOS["topics"],
        TOPICS_WORKLOAD,
        topics_facts.SOURCE,
        {"order": order.check_dense, "durable": durable.check, "content": content.check, "syncs": syncs.check},
        topics_oddities.ODDITIES,
        topics_oddities.NOTES,
        TOPICS_SPECIFICATION,
        processes_a_core=4,
    ),
    System(
        CONTRACTS["mailbox"],
        SCENARIOS["mailbox"],
        MAILBOX_WORKLOAD,
        mailbox_facts.SOURCE,
        {"durable": mail.check, "content": content.check, "lease": mail.check_claims, "work": mail.check_work},
        model=MAILBOX_SPECIFICATION,
    ),
)


def run_checks(lines: Iterable[Event | Broken]) -> list[Verdict]:
    """Integrity, then all checks of its system, on one history. HistoryError if its first line tells no system."""
    lines = iter(lines)
    first = next(lines, None)
    if not isinstance(first, Event) or first.system not in SYSTEMS:
        raise HistoryError(
            "this is no history: " + ("its first line tells no known system" if first else "it is empty")
        )
    system = SYSTEMS[first.system]
    return judge(itertools.chain([first], lines), system.facts, system.checks)


def play(fleet: Fleet, *, seed: int, calls: int, into: Path) -> Path:
    """Play the workload of the fleet's system, recorded into a history file; returns it. ValueError if it has none."""
    workload = SYSTEMS[fleet.system].workload
    if workload is None:
        raise ValueError(f"{fleet.system} has no workload")
    return common.play(workload, fleet, seed=seed, calls=calls, into=into)
