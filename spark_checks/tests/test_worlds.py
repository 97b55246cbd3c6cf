"""Spark and Python say the same of hundreds of histories, real, of mutants, and damaged, as the runs of one pass."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from spark_checks.tests import damage
from spark_checks.tests.damage import CUTS, FILES, Damage, events_of, written

from busproof.bus.fleet import Fleet
from busproof.contract.history import scan
from busproof.faults.record import faults
from busproof.oracle.checks import Verdict, overall
from busproof.systems import play
from busproof.systems import run_checks as run_in_python
from busspark import twin
from busspark.compact import compact
from busspark.generate.logs import Logs
from busspark.generate.relay import Relay
from busspark.generate.stage import UNTOLD, Fault, generate
from busspark.generate.timeline import Timeline
from busspark.generate.topics import Topics
from busspark.generate.truth import missed, unexplained
from busspark.generate.worker import Worker
from busspark.judge import judge
from busspark.narrow import parts

SYSTEMS = ("worker", "comms", "timeline", "topics")
DAMAGED = 25  # of each system
PHANTOMS = 10  # likewise
MUTANTS = {
    ("worker", "claims_everything"): "lease",
    ("comms", "loses_one_in_five"): "durable",
    ("worker", "loses_one_in_twenty"): "durable",  # without a dump
    ("comms", "loses_one_in_twenty"): "durable",
}
BUSES: tuple[type[Logs | Topics | Worker], ...] = (Relay, Timeline, Topics, Worker)  # that promise an order
# A send with an id was refused, and stands; another, without one, was never answered.
_AT: dict[str, Any] = {"run": "r", "system": "comms", "wall_ms": 1, "mono_ns": 1}
_SEND = {"message_type": "note", "payload": 1, "from_agent": "ada", "to_agent": "bob"}
REFUSED_STANDS: damage.Events = [
    {**_AT, "process": process, "type": type_, "op": op, "agent": "ada", "value": value, **more}
    for process, type_, op, value, more in (
        (-1, "header", None, {}, {}),
        (1, "invoke", "send_message", _SEND, {}),
        (1, "info", "send_message", {}, {"code": "LOST"}),
        (2, "invoke", "send_message", {**_SEND, "message_id": "chosen"}, {}),
        (2, "fail", "send_message", {"code": "X", "message": ""}, {}),
        (3, "invoke", "dump", {}, {}),
        (3, "ok", "dump", {"rows": {"messages": 1}}, {}),
        (3, "state", "dump", {"id": "chosen"}, {"key": "messages"}),
        (-1, "footer", None, {}, {}),
    )
]
Said = dict[str, list[Verdict]]


@pytest.fixture(scope="session")
def untold(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, list[Fault]]:
    """Histories in which sends that nobody answered stand below sends that had returned before they began."""
    planted = {}
    for make in BUSES:
        bus = make()
        bus.lies = ("order_reversed" + UNTOLD,)
        path = tmp_path_factory.mktemp("untold") / f"untold-{bus.system}.jsonl"
        planted[path] = [fault for fault in generate(bus, 5_000, path, faults=3, seed=4) if fault.event >= 0]
    return planted


@pytest.fixture(scope="session")
def worlds(
    recorded: Callable[[str], Path], untold: dict[Path, list[Fault]], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Path]:
    """All histories, by name."""
    folder = tmp_path_factory.mktemp("worlds")
    paths = {path.stem: path for path in untold}

    def keep(name: str, events: damage.Events) -> None:
        paths[name] = written(events, folder / f"{name}.jsonl")

    for system in SYSTEMS:
        events = events_of(recorded(system))
        keep(f"real-{system}", events)
        for seed in range(DAMAGED):
            keep(f"damaged-{system}-{seed}", Damage(events, seed).done())
        for seed in range(PHANTOMS if system in ("comms", "topics", "worker") else 0):
            keep(f"phantoms-{system}-{seed}", Damage(events, seed).phantoms())
    keep("malformed", damage.malformed(events_of(recorded("worker"))))
    keep("far-cursor", damage.far_cursor(events_of(recorded("topics"))))
    keep("without-cursor", damage.without_cursor(events_of(recorded("topics"))))
    keep("left-out", damage.left_out_after_a_lost_answer(events_of(recorded("topics")))[0])
    for name, (system, _, _) in damage.ALTERED.items():
        keep(f"altered-{name}", damage.altered(events_of(recorded(system)), name))
    for system in SYSTEMS:
        keep(f"bare-{system}", damage.without_columns(events_of(recorded(system))))
    keep("half-surrogate", damage.half_surrogate(events_of(recorded("worker"))))
    keep("two-clocks", damage.of_two_clocks(events_of(recorded("worker"))))
    keep("refused-stands", REFUSED_STANDS)
    for system, mutant in MUTANTS:
        fleet = Fleet([faults(system)[mutant].spec()], system=system)
        try:
            path = play(fleet, seed=11, calls=240, into=tmp_path_factory.mktemp("mutant") / "history.jsonl")
        finally:
            fleet.close()
        keep(f"mutant-{system}-{mutant}", events_of(path))
    whole = paths["real-worker"].read_text().splitlines(keepends=True)
    for number, (name, change) in enumerate({**FILES, **CUTS}.items()):
        path = folder / f"file-{number}.jsonl"
        path.write_text("".join(change(whole)).replace("real-worker", path.stem))
        paths[name] = path
    return paths


@pytest.fixture(scope="session")
def in_python(worlds: dict[str, Path]) -> Said:
    """The verdicts of the Python checks, from the histories themselves."""
    return {name: run_in_python(scan(path)) for name, path in worlds.items()}


@pytest.fixture(scope="session")
def streams(worlds: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All of them as compact streams."""
    into = tmp_path_factory.mktemp("streams")
    compact(worlds.values(), into)
    return into


def by_name(worlds: dict[str, Path], judged: dict[twin.Run, list[Verdict]]) -> Said:
    """The verdicts by the names of the worlds."""
    names = {path.stem: name for name, path in worlds.items()}
    return {names[run]: verdicts for (_, run), verdicts in judged.items()}


def test_spark_says_of_every_world_what_python_says(
    spark: SparkSession, worlds: dict[str, Path], in_python: Said, streams: Path
) -> None:
    """The same verdicts, counts and witnesses, in one pass over all worlds of a system."""
    in_spark = by_name(worlds, judge(spark, str(streams)))
    assert in_spark.keys() == in_python.keys()
    assert [name for name, verdicts in in_python.items() if in_spark[name] != verdicts] == []


def test_the_twin_says_the_same_from_compact_streams(worlds: dict[str, Path], in_python: Said, streams: Path) -> None:
    """Compact streams lack nothing."""
    twins = by_name(worlds, dict(twin.judge(streams)))
    assert [name for name, verdicts in in_python.items() if twins[name] != verdicts] == []


def test_what_was_narrowed_lacks_nothing_and_makes_nothing_up(
    worlds: dict[str, Path],
    untold: dict[Path, list[Fault]],
    in_python: Said,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As in a run that is too large for memory. Only every fifth world: each costs a hundred queries."""
    monkeypatch.setattr(twin, "EVENTS_IN_MEMORY", 0)
    monkeypatch.setattr(parts, "ROWS_OF_A_PART", 50)
    compact({*list(worlds.values())[::5], *untold}, tmp_path)
    narrowed = by_name(worlds, dict(twin.judge(tmp_path)))
    assert len(narrowed) > 15
    assert [name for name, verdicts in narrowed.items() if in_python[name] != verdicts] == []


def test_real_histories_are_valid_and_mutants_are_found(in_python: Said) -> None:
    """Else the worlds would agree on nothing."""
    assert {overall(in_python[f"real-{system}"]) for system in SYSTEMS} == {"valid"}
    for (system, mutant), check in MUTANTS.items():
        by_check = {verdict.check: verdict.verdict for verdict in in_python[f"mutant-{system}-{mutant}"]}
        assert by_check[check] == "invalid"
    kinds = {witness.kind for verdicts in in_python.values() for verdict in verdicts for witness in verdict.witnesses}
    assert len(kinds) > 25


def test_malformed_answers_are_violations_and_never_a_crash(in_python: Said) -> None:
    """Eleven of them."""
    integrity, *_ = in_python["malformed"]
    assert integrity.verdict == "invalid"
    assert [witness.kind for witness in integrity.witnesses] == ["malformed_answer"] * 11


def test_messages_of_a_malformed_answer_are_not_looked_at(in_python: Said) -> None:
    """The answer is a violation, and no crash; later events are not blamed for it."""
    integrity, *others = in_python["without-cursor"]
    assert [witness.kind for witness in integrity.witnesses] == ["malformed_answer"]
    assert {verdict.verdict for verdict in others} == {"valid"}


def test_a_reader_that_lost_an_answer_is_followed_on(recorded: Callable[[str], Path], in_python: Said) -> None:
    """A message that is left out long afterwards is found."""
    _, event = damage.left_out_after_a_lost_answer(events_of(recorded("topics")))
    syncs = in_python["left-out"][-1]
    assert event in {index for witness in syncs.witnesses for index in witness.events}


def test_a_send_without_an_answer_must_not_stand_below_what_had_returned(
    in_python: Said, untold: dict[Path, list[Fault]]
) -> None:
    """Nobody was told its seq, so the final state says it; in every system that promises an order."""
    for path, truth in untold.items():
        assert "order_reversed" in {fault.kind for fault in truth}
        assert missed(in_python[path.stem], truth) == []
        assert unexplained(in_python[path.stem], truth) == []


@pytest.mark.parametrize("name", damage.ALTERED)
def test_an_alteration_is_found_as_what_it_is(in_python: Said, name: str) -> None:
    """In histories that are valid without it."""
    verdicts = in_python[f"altered-{name}"]
    assert damage.ALTERED[name][2] in {witness.kind for verdict in verdicts for witness in verdict.witnesses}


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_column_that_is_left_out_is_never_a_fault_of_the_bus(in_python: Said, system: str) -> None:
    """All of it stands in `value`."""
    assert in_python[f"bare-{system}"] == in_python[f"real-{system}"]


def test_half_a_surrogate_stops_no_audit(in_python: Said) -> None:
    """The id that was told is not the one that stands."""
    assert overall(in_python["half-surrogate"]) == "invalid"


def test_a_message_that_is_shown_before_it_was_sent_means_that_clocks_disagree(in_python: Said) -> None:
    """Nothing is said of the bus."""
    integrity, *others = in_python["two-clocks"]
    assert integrity.reason.startswith("clocks disagree: event ")
    assert {verdict.verdict for verdict in [integrity, *others]} == {"unknown"}


def test_an_unanswered_send_excuses_no_refused_one(in_python: Said) -> None:
    """In both engines."""
    kinds = {witness.kind for verdict in in_python["refused-stands"] for witness in verdict.witnesses}
    assert kinds == {"refused_but_stored"}


@pytest.mark.parametrize("name", FILES)
def test_of_a_damaged_file_nothing_is_said_but_where(in_python: Said, name: str) -> None:
    """The verdict is unknown, with the line."""
    assert {verdict.verdict for verdict in in_python[name]} == {"unknown"}
    assert in_python[name][0].reason.startswith("line ")


@pytest.mark.parametrize("name", CUTS)
def test_a_cut_file_is_judged_as_far_as_it_goes(in_python: Said, name: str) -> None:
    """It is whole up to there, and never valid."""
    integrity, *_ = in_python[name]
    assert (integrity.verdict, integrity.reason) == ("unknown", "the history has no footer: it was cut")


def test_a_last_line_without_its_newline_is_whole(recorded: Callable[[str], Path], tmp_path: Path) -> None:
    """Somebody's editor took it."""
    path = tmp_path / "history.jsonl"
    path.write_text(recorded("topics").read_text().rstrip("\n"))
    assert compact([path], tmp_path / "streams")[0].is_whole
    assert {verdict.verdict for verdict in run_in_python(scan(path))} == {"valid"}
