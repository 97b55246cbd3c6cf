"""A run under pytest: its options, its fleets, its parts, its report."""

from __future__ import annotations

import contextlib
import datetime
import itertools
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from busproof import __version__
from busproof.bus.base import DoorError
from busproof.bus.fleet import BudgetSpent, Fleet, reference, warm_for
from busproof.bus.warm import Warm, started_by
from busproof.contract import CONTRACTS, HelloReply
from busproof.contract.catalogue import CORPUS, EXPLORE, HISTORY, catalogue
from busproof.pages.report import badge, html, junit, lines
from busproof.pages.report.causes import settled
from busproof.play.suite import rows_of
from busproof.run import known
from busproof.run.result import BUDGET_SPENT, NO_END, NOT_REACHED, RowResult
from busproof.run.rows import cited, decided_by, item_names
from busproof.run.runner import run_item
from busproof.run.search import EXPLORE_PARTS
from busproof.systems import SYSTEMS
from busproof.words import kit_failed, reason

PARTICIPANT = "sqlite:"
WARM = "BUSPROOF_WARM"  # where a warm process listens

# These need restarts and refusals of one kind, so they stay on the bus alone. Nobody promises how the kit's participant
# takes a file that goes away under it.
UNMIXED = (CORPUS, EXPLORE, "log.removed")

# Each takes longer than all else together: its parts are played side by side.
PARTS = {
    CORPUS: tuple(f"{CORPUS}:{number}of6" for number in range(1, 7)),
    EXPLORE: tuple(f"{EXPLORE}:{part}" for part in EXPLORE_PARTS),
}


@dataclass
class _Corpus:
    """How much of the corpus a bus was asked, over its parts."""

    left_out: Counter[str] = field(default_factory=Counter)  # calls that were not sent, by method
    calls: int = 0  # of so many
    not_played: int = 0  # scripts
    undecided: int = 0  # races

    def add(self, result: RowResult) -> None:
        """Any result of a part has that part's numbers."""
        self.left_out += Counter(result.left_out)
        self.calls += result.calls
        self.not_played += result.not_played
        self.undecided += result.undecided


@dataclass
class Run:
    """The run that `busproof check` was asked for. Every xdist worker has one; the controller finishes."""

    out: Path
    system: str
    bus: str
    mixed_with: str
    only: list[str]
    profile: str
    seed: int | None
    known_file: str
    nightly: bool
    ends_at: float | None = None  # Unix seconds
    hello: HelloReply | None = None  # of the bus, if somebody has asked for it
    report: lines.Report | None = None
    _fleets: dict[str, Fleet] = field(default_factory=dict)
    _warm: Warm | None = None

    @classmethod
    def from_options(cls, options: Any) -> Self:
        """From pytest's parsed options."""
        return cls(
            out=Path(options.busproof_out).resolve(),
            system=options.busproof_system,
            bus=options.busproof_bus,
            mixed_with=options.busproof_mixed_with,
            only=options.busproof_only,
            profile=options.busproof_profile,
            seed=options.busproof_seed,
            known_file=options.busproof_known,
            nightly=options.busproof_nightly,
            ends_at=options.busproof_ends_at,
        )

    def items(self) -> list[tuple[str, str]]:
        """(fleet, item), after --only. Each process begins with a long one (it works, or waits) and a short one."""
        wanted = [name for name in item_names(self.system) if self._wanted(name)]
        names = [part for name in wanted for part in self._parts_of(name)]
        names += [name for name in self.only if name.startswith(f"{CORPUS}:")]
        mixed = [name for name in names if self.mixed_with and name.partition(":")[0] not in UNMIXED]
        items = [("bus", name) for name in names] + [("mixed", name) for name in mixed]
        waits = [item for item in items if self.waits_long(item[1])]
        works = [item for item in items if item[1].partition(":")[0] in (*UNMIXED, HISTORY)]
        works.sort(key=lambda item: item[1] != HISTORY)  # a loss shows there first, whatever the time is enough for
        short = [item for item in items if item not in waits and item not in works]
        return list(_in_turn(_in_turn(works, waits), short))

    def _parts_of(self, item: str) -> tuple[str, ...]:
        """The corpus and the search are played in parts; of the corpus, what the rows that were asked for need."""
        if item == CORPUS and self.only and not self._is_whole_corpus():
            return tuple(f"{CORPUS}:{row}" for row in self.only if row in cited(self.system))
        return PARTS.get(item, (item,))

    def _is_whole_corpus(self) -> bool:
        """Is it asked for by its own name, or by a noun or a row that it alone decides?"""
        names = {CORPUS, *(row.noun for row in rows_of(self.system, CORPUS))}
        return bool(names & set(self.only)) or not cited(self.system) & set(self.only)

    def waits_long(self, item: str) -> bool:
        """Is it a scenario that waits for many seconds?"""
        scenario = SYSTEMS[self.system].scenarios.get(item)
        return scenario is not None and scenario.is_long

    def _wanted(self, item: str) -> bool:
        if not self.only:
            return True
        rows = rows_of(self.system, item)
        names = {item, *(row.id for row in rows), *(row.check or "" for row in rows)}
        if item != HISTORY:
            names |= {row.noun for row in rows}
        if item == CORPUS:
            names |= cited(self.system)
        return bool(names & set(self.only))

    def _asked_for(self, item: str, results: list[RowResult]) -> list[RowResult]:
        """If the corpus is played for rows that were asked for by their ids, only these rows."""
        if item.partition(":")[0] != CORPUS or not set(self.only) & cited(self.system) or CORPUS in self.only:
            return results
        return [_cut_short(result) for result in results if result.requirement in self.only]

    def fleet(self, label: str) -> Fleet:
        """The bus alone, or in turn with another on one store."""
        if label not in self._fleets:
            specs = [self.bus or self._reference()]
            if label == "mixed":
                specs.append(self._reference() if self.mixed_with == "reference" else self.mixed_with)
            self._fleets[label] = Fleet(specs, system=self.system)
            self._fleets[label].ends_at = self.ends_at
        return self._fleets[label]

    def _reference(self) -> str:
        """Our own bus, from a warm process: a run starts it a hundred times. A bus of the user's starts as they say."""
        spec = reference(self.system)
        if path := os.environ.get(WARM):  # that of `busproof check`, for all its processes
            return started_by(path, spec)
        if self._warm is None:
            self._warm = warm_for([self.system])
        return self._warm.spec(spec)

    def play(self, label: str, item: str) -> list[RowResult]:
        """Play an item and leave its rows in OUT/parts."""
        try:
            profile = "nightly" if self.nightly else "pr"
            with self._within_the_budget():
                results = run_item(self.fleet(label), item, label=label, profile=profile, seed=self.seed)
        except BudgetSpent:
            results = self._undecided(label, item, BUDGET_SPENT)
        except DoorError as error:
            results = self._undecided(label, item, f"the bus could not be started: {reason(error)}")
        except Exception as error:
            results = self._undecided(label, item, kit_failed(error))
        results = self._asked_for(item, results)
        part = self.out / "parts" / f"{label}-{item}.json"
        part.parent.mkdir(parents=True, exist_ok=True)
        whole = part.with_suffix(".new")
        whole.write_text(json.dumps([result.model_dump() for result in results]), encoding="utf-8")
        whole.replace(part)  # a watcher of the folder sees it whole
        return results

    @contextlib.contextmanager
    def _within_the_budget(self) -> Iterator[None]:
        """Raises BudgetSpent inside when the user's time is over, wherever the item waits then."""
        left_s = (self.ends_at or 0) - time.time()
        if left_s <= 0 or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.signal(signal.SIGALRM, _end_the_item)
        signal.setitimer(signal.ITIMER_REAL, left_s)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)

    def close(self) -> None:
        """End the buses of this process."""
        for fleet in self._fleets.values():
            fleet.close()
        self._fleets.clear()
        if self._warm is not None:
            self._warm.close()
            self._warm = None

    def finish(self) -> lines.Report:
        """All parts → the report in every form. An item without its part did not run, and is said so."""
        results, corpus = self._results()
        hello = self._hello()
        entries = known.load(Path(self.known_file)) if self.known_file else []
        results += self._demanded_but_undeclared(hello)
        results = _settled(results)
        failed = {result.requirement for result in results if result.outcome == "fail"}
        decided = {r.requirement for r in results if r.outcome in ("pass", "warn", "fail")}
        header = {
            "busproof": __version__,
            "system": self.system,
            "bus": self.bus,
            "mixed_with": self.mixed_with,
            "only": self.only,
            "profile": self.profile,
            "seed": self.seed,
            "nightly": self.nightly,
            "hello": hello,
            "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "known": [entry.id for entry in entries],
            "known_entries": [entry.model_dump(mode="json") for entry in entries],
            "known_faults": known.faults(entries, failed, decided, self.system, datetime.date.today()),
            "chaos_rows": sum(row.kind == "chaos" for row in catalogue(self.system).values()),
            "left_out": (corpus.left_out.total(), corpus.calls),
            "not_asked": dict(corpus.left_out.most_common()),
            "not_played": corpus.not_played,
            "undecided": corpus.undecided,
        }
        report = lines.write(self.out / "report.jsonl", header, results)
        junit.write(report, self.out / "junit.xml")
        html.write(report, self.out / "report.html")
        badge.write(report, self.out)
        return report

    def _results(self) -> tuple[list[RowResult], _Corpus]:
        """The results of all parts, and how much of the corpus the bus alone was asked."""
        results, corpus = list[RowResult](), _Corpus()
        for label, item in self.items():
            part = self.out / "parts" / f"{label}-{item}.json"
            if part.exists():
                of_part = [RowResult.model_validate(row) for row in json.loads(part.read_text(encoding="utf-8"))]
                if of_part and label == "bus":
                    corpus.add(of_part[0])
                results += of_part
                continue
            why = BUDGET_SPENT if self.ends_at and time.time() > self.ends_at else f"{item} {NO_END}"
            results += self._asked_for(item, self._undecided(label, item, why))
        return _joined(results), corpus

    def _undecided(self, label: str, item: str, why: str) -> list[RowResult]:
        """The rows of an item that was not played to its end."""
        return [
            RowResult(requirement=row.id, outcome="could-not-run", check=row.check or "", fleet=label, why=why)
            for row in decided_by(self.system, item)
        ]

    def _hello(self) -> dict[str, Any]:
        if self.hello is not None:
            return self.hello.model_dump()
        try:
            return self.fleet("bus").hello.model_dump()
        except Exception as error:
            return {"name": "?", "version": "?", "nouns": [], "features": [], "error": str(error)}
        finally:
            self.close()

    def _demanded_but_undeclared(self, hello: dict[str, Any]) -> list[RowResult]:
        demanded = CONTRACTS[self.system].profiles[self.profile] if self.profile else ()
        missing = set(demanded) - set(hello["nouns"])
        return [
            RowResult(
                requirement=row.id,
                outcome="fail",
                check=row.check or "",
                fleet="bus",
                why=f"profile {self.profile} demands the noun {row.noun}, which the bus does not declare",
            )
            for row in catalogue(self.system).values()
            if row.noun in missing and row.level == "MUST"
        ]


def _in_turn(first: Iterable[tuple[str, str]], second: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """One of each, then the rest of the longer one."""
    return (item for pair in itertools.zip_longest(first, second) for item in pair if item)


def _settled(results: list[RowResult]) -> list[RowResult]:
    """The results; a row that fails only in the differences of others is blocked by one of them."""
    return [RowResult.model_validate(row) for row in settled([result.model_dump() for result in results])]


def _cut_short(result: RowResult) -> RowResult:
    """A row that held is undecided if the corpus ended before all scripts that were asked for, as others broke."""
    if result.outcome != "pass" or not result.not_played:
        return result
    why = f"it held, but {result.not_played} scripts were not played, as enough rows beside it had broken"
    return result.model_copy(update={"outcome": "inconclusive", "why": why})


def _end_the_item(*_: object) -> None:
    raise BudgetSpent


def _joined(results: list[RowResult]) -> list[RowResult]:
    """The results, without those that one part of an item left open and another part decided, or broke."""
    decided = {r.requirement for r in results if r.check == CORPUS and not r.why.startswith(NOT_REACHED)}
    failed = {(r.requirement, r.fleet) for r in results if r.outcome == "fail"}
    return [
        r
        for r in results
        if not (r.why.startswith(NOT_REACHED) and r.requirement in decided)
        and not (r.outcome == "could-not-run" and (r.requirement, r.fleet) in failed)
    ]
