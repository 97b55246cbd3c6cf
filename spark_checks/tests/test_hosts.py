"""A run of several hosts is judged by what messages tell of their clocks: a sound bus is never invalid."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from spark_checks.tests.damage import Events, events_of

from busproof.oracle.checks import Verdict, overall
from busspark import twin
from busspark.compact import compact
from busspark.generate.comms import Comms
from busspark.generate.relay import Relay
from busspark.generate.stage import START_MS, Bus, generate
from busspark.generate.topics import Topics
from busspark.generate.worker import Worker
from busspark.judge import judge

Hosts = Mapping[str, tuple[int, int]]  # how far each one's clock, and its time of day, is ahead, in ns
AWAY: Hosts = {"a": (0, 0), "b": (50_000_000, 50_000_000), "c": (-50_000_000, -50_000_000)}
BOOTED: Hosts = {"a": (0, 0), "b": (3 * 3600 * 10**9, 0), "c": (-7 * 3600 * 10**9, 0)}  # hours earlier and later


def of_hosts(path: Path, folder: Path, hosts: Hosts) -> list[Path]:
    """The history as three hosts recorded it, each of some agents. Their processes have the same numbers."""
    folder.mkdir()
    header, *events, footer = events_of(path)
    parts = []
    for place, (host, (clock, day)) in enumerate(hosts.items()):
        own = [event for event in events if event["process"] % 8 % len(hosts) == place]
        numbers = {process: n for n, process in enumerate(dict.fromkeys(event["process"] for event in own))}
        states = sum(event["type"] == "state" for event in own)
        body: Events = [header | {"host": host}, *(event | {"process": numbers[event["process"]]} for event in own)]
        body.append(footer | {"value": {"events": len(body), "states": states}})
        for n, event in enumerate(body):
            since_ns = (event["wall_ms"] - START_MS) * 1_000_000 + event["index"]
            at = {"mono_ns": since_ns + clock, "wall_ms": event["wall_ms"] + day // 1_000_000}
            body[n] = event | at | {"index": n}
        parts.append(folder / f"{host}.jsonl")
        parts[-1].write_text("".join(json.dumps(line) + "\n" for line in body))
    return parts


def judged(parts: list[Path], streams: Path) -> list[Verdict]:
    """By the Python engine."""
    compact(parts, streams)
    (verdicts,) = dict(twin.judge(streams)).values()
    return verdicts


def kinds(verdicts: list[Verdict]) -> Counter[str]:
    """The violations that they show."""
    return Counter(witness.kind for verdict in verdicts for witness in verdict.witnesses)


@pytest.mark.parametrize("bus", [Worker, Topics, Comms])
@pytest.mark.parametrize("hosts", [AWAY, BOOTED])
def test_a_sound_bus_is_valid_on_any_clocks(tmp_path: Path, bus: type[Bus], hosts: Hosts) -> None:
    """It is told how the clocks stand, and how well that is known."""
    generate(bus(), 3_000, tmp_path / "sound.jsonl", seed=2)
    verdicts = judged(of_hosts(tmp_path / "sound.jsonl", tmp_path / "parts", hosts), tmp_path / "streams")
    assert (kinds(verdicts), overall(verdicts)) == (Counter(), "valid")
    assert "clocks ahead of that of" in verdicts[0].reason and "± 0.00" in verdicts[0].reason


@pytest.mark.parametrize("bus", [Worker, Topics, Comms])
def test_every_fault_shows_that_is_not_as_short_as_the_doubt(tmp_path: Path, bus: type[Bus]) -> None:
    """All kinds that one host's record shows, hardly fewer of each, and nothing else."""
    generate(bus(), 8_000, tmp_path / "faulty.jsonl", faults=60, seed=1)
    of_one = kinds(judged([tmp_path / "faulty.jsonl"], tmp_path / "one"))
    of_three = kinds(judged(of_hosts(tmp_path / "faulty.jsonl", tmp_path / "parts", BOOTED), tmp_path / "three"))
    assert of_three.keys() == of_one.keys()
    assert of_three <= of_one and of_three.total() > 0.9 * of_one.total()


@pytest.mark.nightly
def test_spark_says_the_same(tmp_path: Path, spark: SparkSession) -> None:
    """Of the raw parts: one task puts those of a run together."""
    generate(Worker(), 3_000, tmp_path / "faulty.jsonl", faults=20, seed=1)
    parts = of_hosts(tmp_path / "faulty.jsonl", tmp_path / "parts", BOOTED)
    verdicts = judged(parts, tmp_path / "streams")
    assert overall(verdicts) == "invalid"
    assert list(judge(spark, [part.as_uri() for part in parts]).values()) == [verdicts]


@pytest.mark.parametrize("bus", [Relay, Worker])
def test_what_nobody_can_order_is_unknown(tmp_path: Path, bus: type[Bus]) -> None:
    """Hosts that are shown nothing of each other, and a clock that jumped by an hour in the middle."""
    generate(bus(), 3_000, tmp_path / "sound.jsonl", seed=2)
    parts = of_hosts(tmp_path / "sound.jsonl", tmp_path / "parts", AWAY)
    if bus is Worker:
        lines = events_of(parts[1])
        for line in lines[len(lines) // 2 :]:
            line["mono_ns"] += 3600 * 10**9
        parts[1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    verdicts = judged(parts, tmp_path / "streams")
    assert {verdict.verdict for verdict in verdicts} == {"unknown"}
    assert ("clocks disagree" if bus is Worker else "nobody knows how the clocks of") in verdicts[0].reason


def test_a_file_holds_the_lines_of_one_host(tmp_path: Path) -> None:
    """Somebody who put them together has put them in an order that nothing tells."""
    generate(Worker(), 1_000, tmp_path / "sound.jsonl", seed=2)
    lines = events_of(tmp_path / "sound.jsonl")
    lines[7]["host"] = "b"
    (tmp_path / "sound.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (verdict, *_) = judged([tmp_path / "sound.jsonl"], tmp_path / "streams")
    assert verdict.reason == "line 8: it is of another host than the header: each file holds the lines of one"
