"""The facts of a history that was taken range by range are those of one pass over it, wherever it was cut."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from spark_checks.tests.damage import CUTS, FILES, Damage, Events, events_of, written

from busproof.contract.history import Event
from busproof.contract.history import events_of as events_in
from busproof.oracle.checks import Facts, extract
from busproof.oracle.checks.extract import ranges
from busproof.oracle.checks.extract.ranges import Damaged, Range, Seams, take
from busproof.oracle.checks.facts import FACTS
from busproof.oracle.checks.integrity import Integrity
from busproof.systems import SYSTEMS
from busspark import compact as compacting
from busspark import twin
from busspark.compact import compact
from busspark.generate.__main__ import BUSES
from busspark.generate.stage import generate

Recorded = Callable[[str], Path]
RECORDED = ("worker", "comms", "timeline", "topics")
MANY = 4


def in_one(lines: list[bytes]) -> Facts:
    """The facts of one pass."""
    watched = Integrity()
    events = list(watched.watch(events_in(lines)))
    return extract(iter(events), SYSTEMS[events[0].system].facts)


def in_ranges(lines: list[bytes], cuts: list[int]) -> Facts:
    """The facts of ranges of these lines, each taken as if it were alone. Raises Damaged."""
    header = next(events_in(lines))
    assert isinstance(header, Event)
    source, facts = SYSTEMS[header.system].facts, Facts(about=[])
    taken: list[tuple[Range, list[bytes]]] = []
    for begin, end in zip([0, *cuts], [*cuts, len(lines)], strict=True):
        entries: list[bytes] = []
        taken.append((take(events_in(lines[begin:end]), source, header, entries.append), entries))
    seams = Seams(source, header)
    known = [seams.known_before(range_) for range_, _ in taken]
    seams.end()
    for before, (range_, entries) in zip(known, taken, strict=True):
        reading = ranges.facts(source, header, range_, before, entries, facts)
    facts.about = [reading.ended(facts)]
    return facts


def rows(facts: Facts) -> dict[str, list[str]]:
    """All rows, in no order."""
    return {name: sorted(map(repr, getattr(facts, name))) for name in FACTS}


def lines_of(path: Path) -> list[bytes]:
    """Its lines, with their ends."""
    return path.read_bytes().splitlines(keepends=True)


def drawn(rng: random.Random, lines: list[bytes], count: int) -> list[int]:
    """So many places to cut."""
    return sorted(rng.sample(range(1, len(lines)), min(count, len(lines) - 1)))


@pytest.mark.parametrize("system", RECORDED)
def test_a_real_history_may_be_cut_anywhere(recorded: Recorded, tmp_path: Path, system: str) -> None:
    """Damaged answers too, and open calls, states and exports that a seam divides."""
    rng = random.Random(1)
    events: Events = events_of(recorded(system))
    for seed in range(MANY):
        lines = lines_of(written(Damage(events, seed).done() if seed else events, tmp_path / f"{seed}.jsonl"))
        cuts = drawn(rng, lines, rng.choice((1, 3, 30)))
        assert rows(in_ranges(lines, cuts)) == rows(in_one(lines)), (seed, cuts)


@pytest.mark.parametrize("system", BUSES)
def test_a_long_history_with_faults_may_be_cut_anywhere(
    tmp_path: Path, system: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of it, few words are read in order: without them, facts would know less."""
    path = tmp_path / "long.jsonl"
    generate(BUSES[system](), 4_000, path, faults=40, seed=3)
    lines = lines_of(path)
    expected = rows(in_one(lines))
    for seed in range(2):
        assert rows(in_ranges(lines, drawn(random.Random(seed), lines, 9))) == expected
    monkeypatch.setattr(ranges, "last_words", lambda entries, begins, source: [])
    if system not in ("relay", "comms"):  # whose facts hang together less
        assert rows(in_ranges(lines, [len(lines) // 2])) != expected


@pytest.mark.parametrize("name", FILES)
def test_damage_is_left_to_one_pass(recorded: Recorded, name: str) -> None:
    """Wherever it lies; the history is sound without it."""
    whole = recorded("worker").read_text().splitlines(keepends=True)
    lines = [line.encode() for line in FILES[name](whole)]
    for seed in range(MANY):
        with pytest.raises(Damaged):
            in_ranges(lines, drawn(random.Random(seed), lines, 1 + seed))


@pytest.mark.parametrize("name", CUTS)
def test_a_cut_history_is_taken_as_far_as_it_goes(recorded: Recorded, name: str) -> None:
    """It has no footer."""
    lines = [line.encode() for line in CUTS[name](recorded("worker").read_text().splitlines(keepends=True))]
    assert not in_one(lines).known.is_whole
    assert rows(in_ranges(lines, [30, len(lines) // 2])) == rows(in_one(lines))


def test_processes_take_the_ranges_of_a_long_file(
    recorded: Recorded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two states in it, and beside it one that is damaged; the verdicts are those of one pass."""
    sound, damaged = tmp_path / "sound.jsonl", tmp_path / "damaged.jsonl"
    events = events_of(recorded("worker"))
    dump = [event for event in events if event.get("op") == "dump"]
    answered = next(n for n, event in enumerate(events) if n > 200 and event["type"] == "ok" and event["process"] == 0)
    written([*events[: answered + 1], *dump, *events[answered + 1 :]], sound)
    damaged.write_bytes(b"".join(line for n, line in enumerate(lines_of(recorded("worker"))) if n != 300))
    abouts = {path: compact([path], tmp_path / path.stem, jobs=1)[0] for path in (sound, damaged)}
    monkeypatch.setattr(compacting, "BYTES_OF_A_JOB", sound.stat().st_size // 5)
    together = {about.source: about for about in compact(abouts, tmp_path / "ranges", jobs=2)}
    assert abouts[damaged].damage.startswith("line 301: ") and not abouts[sound].damage
    in_ranges_of = {n: bool([*(tmp_path / "ranges").rglob(f"part-r{n:03}-*-*")]) for n in range(2)}
    assert in_ranges_of == {0: True, 1: False}
    for about in abouts.values():
        of_ranges = together[about.source]
        assert json.loads(of_ranges.counts).items() >= json.loads(about.counts).items()
        assert msgspec.structs.replace(of_ranges, counts=about.counts) == about
    judged = dict(twin.judge(tmp_path / "ranges"))
    assert len(judged) == 2
    for path in abouts:
        assert judged.items() >= dict(twin.judge(tmp_path / path.stem)).items()
