"""A closer look at the suspects: their facts come to this process, and the check itself judges them.

Small runs come together, so that hundreds of them cost one query per stream. For leases and contents of a large run,
its suspect keys come. For other checks, only the rows that can matter come (`narrow`) if the streams are files of this
machine; if they are not, the streams that the checks look at.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.oracle.checks import Check, Facts, Verdict, content, lease
from busproof.oracle.checks.facts import FACTS, About, Malformed
from busspark.known import KNOWN, is_screened
from busspark.narrow.database import opened
from busspark.narrow.judge import can_judge, look
from busspark.screen import rows as r
from busspark.screen.edges import Suspicion
from busspark.screen.rows import Streams

EVENTS_AT_ONCE = 1_000_000
_ALL = tuple(name for name in FACTS if name not in ("about", "malformed"))


class Closer:
    """Looks at runs, each with the facts about it and the suspicion against it."""

    def __init__(
        self,
        streams: Streams,
        checks: Mapping[str, Check],
        runs: Mapping[str, tuple[About, Suspicion]],
        here: Path | None,
    ) -> None:
        self._streams, self._checks, self._runs, self._here = streams, checks, runs, here
        self._small = [run for run, (about, _) in runs.items() if about.lines * len(runs) <= EVENTS_AT_ONCE]

    @cached_property
    def malformed(self) -> dict[str, list[Malformed]]:
        """Malformed answers by run: they are few, or the bus is beyond help."""
        return {run: facts.malformed for run, facts in by_run({"malformed": self._streams["malformed"]}).items()}

    @cached_property
    def _facts(self) -> dict[str, Facts]:
        """All facts of the small runs in which anything is suspect."""
        runs = [run for run in self._small if self._is_wanted(*self._runs[run])]
        wanted = {name for check in self._checks.values() for name in _looks_at(check)}
        return by_run({name: self._streams[name].where(F.col("run").isin(runs)) for name in wanted})

    def _is_wanted(self, about: About, suspicion: Suspicion) -> bool:
        return bool(suspicion.bits) or not all(is_screened(check, about) for check in self._checks.values())

    def look(self, run: str, check: Check) -> Verdict:
        """The verdict of the check."""
        about, suspicion = self._runs[run]
        of_keys = check in _BY_KEY and suspicion.knows(*_BY_KEY[check])
        if run in self._small:
            facts = self._facts.get(run, Facts())
        elif self._here is not None and can_judge([check]) and not of_keys:
            with opened(self._here, run, about) as db:
                return look(db, check)
        else:
            streams = {name: self._streams[name].where(F.col("run") == run) for name in _looks_at(check)}
            facts = by_run(_of_keys(streams, suspicion) if of_keys else streams).get(run, Facts())
        facts.about = [about]
        return check(facts)


_BY_KEY = {content.check: (r.CONTENT,), **dict.fromkeys((lease.check, lease.check_deliveries), (r.HOLD, r.ADDRESSEE))}


def _looks_at(check: Check) -> tuple[str, ...]:
    return KNOWN[check].looks_at if check in KNOWN else _ALL


def _of_keys(streams: Mapping[str, DataFrame], suspicion: Suspicion) -> dict[str, DataFrame]:
    """Only the facts of suspect keys: no other key has to do with them."""
    if "contents" in streams:
        return {"contents": streams["contents"].where(_among(r.CONTENT, "lane, message", suspicion.keys[r.CONTENT]))}
    held, to = suspicion.keys[r.HOLD], suspicion.keys[r.ADDRESSEE]
    facts = dict(streams)
    facts["holds"] = streams["holds"].where(f"{_among(r.HOLD, 'lane, key', held)} OR {_among(r.ADDRESSEE, 'key', to)}")
    if "delivered" in streams:
        facts["delivered"] = streams["delivered"].where(_among(r.HOLD, "lane, id", held))
    if "appended" in streams:
        facts["appended"] = streams["appended"].where(_among(r.ADDRESSEE, "id", to))
    return facts


def _among(kind: int, key: str, keys: set[int]) -> str:
    return f"xxhash64({kind}, run, {key}) IN ({', '.join(map(str, sorted(keys)))})" if keys else "FALSE"


def by_run(streams: Mapping[str, DataFrame]) -> dict[str, Facts]:
    """The facts of each run, in this process."""
    facts: dict[str, Facts] = {}
    for name, stream in streams.items():
        for run, rows in _rows(name, stream):
            getattr(facts.setdefault(run, Facts()), name).extend(rows)
    return facts


def _rows(name: str, stream: DataFrame) -> Iterator[tuple[str, list[object]]]:
    fact = FACTS[name]
    for batch in stream.toArrow().to_batches():
        runs, *columns = (column.to_pylist() for column in batch.columns)
        by_run: dict[str, list[object]] = {}
        for run, row in zip(runs, map(fact, *columns), strict=True):
            by_run.setdefault(run, []).append(row)
        yield from by_run.items()
