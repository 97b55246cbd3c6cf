"""The suspicions of the screen: never too few, and against a sound bus hardly any."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StringType, StructField, StructType

from busproof.oracle.checks import Check, Facts, lease
from busproof.oracle.checks.facts import FACTS, About, Delivered, Hold
from busproof.systems import SYSTEMS
from busspark.compact import compact
from busspark.generate.logs import Logs
from busspark.generate.relay import Relay
from busspark.generate.stage import UNTOLD, generate
from busspark.generate.timeline import Timeline
from busspark.generate.topics import Topics
from busspark.generate.worker import Worker
from busspark.judge import screened, streams_of
from busspark.known import ORDER
from busspark.schema import fact_schema
from busspark.screen import rows as r
from busspark.screen.edges import Suspicion

BUSES: tuple[type[Logs | Topics | Worker], ...] = (Relay, Timeline, Topics, Worker)  # that promise an order
HOLDERS = ("ada", "bob", "cyd")
KEYS, ALTERED, LEASE_MS = 6_000, 0.7, 15
RUN = "a run"
STREAMS = ("holds", "appended", "delivered")
ABOUT = About(is_whole=True, dump_at=None, newest_ms=None)


def _suspicion(streams: Mapping[str, DataFrame], checks: set[Check]) -> Suspicion:
    """The suspicion against their only run."""
    return next(iter(screened(streams, checks).values()), Suspicion())


# -- logs


@pytest.mark.parametrize("make", BUSES)
def test_one_send_that_stands_too_low_is_all_that_is_suspect_of_an_order(
    spark: SparkSession, tmp_path: Path, make: type[Logs | Topics | Worker]
) -> None:
    """Nobody answered it, like others of the same history, which stand where they may."""
    system = make.system
    checks = set(SYSTEMS[system].checks.values())
    bits = []
    for lies in ((), ("order_reversed" + UNTOLD,)):
        bus = make()
        bus.lies = lies
        history = tmp_path / f"{len(lies)}.jsonl"
        generate(bus, 4_000, history, faults=3 * len(lies), seed=4)
        compact([history], tmp_path / str(len(lies)))
        bits.append(_suspicion(streams_of(spark, str(tmp_path / str(len(lies))), system), checks).bits)
    sound, too_low = bits
    assert not sound & ORDER
    assert too_low & ORDER


# -- leases


def _calls(rng: random.Random, key: str) -> list[Hold]:
    """Calls on one key that overlap, the same agent's too, as a sound bus answers them; one in ten has no answer."""
    moment, calls = 0, []
    for number in range(rng.randint(3, 9)):
        moment += rng.randint(1, 12)
        end = moment + rng.randint(1, 12)
        calls.append((rng.uniform(moment, end), moment, end, number))
    at_once = len(calls)  # so many calls can share a moment: each is an event of its own
    holder, until, token, holds = "", 0, 0, []
    for at, begin, end, number in sorted(calls):
        who, op = rng.choice(HOLDERS), rng.choice(("claim", "claim", "renew", "release"))
        is_held = bool(holder) and until > at
        is_granted = is_held and holder == who if op != "claim" else not is_held or holder == who
        if is_granted and op == "release":
            holder = ""
        elif is_granted:
            token += op == "claim"
            holder, until = who, int(at) + LEASE_MS
        is_told = rng.random() > 0.1
        says = is_told and is_granted
        holds.append(
            Hold(
                lane="",
                begin=2 * (begin * at_once + number),
                end=2 * (end * at_once + number) + 1,
                outcome="ok" if is_told else "info",
                op=op,
                key=key,
                holder=who,
                granted=is_granted if is_told else None,
                token=token if says and op == "claim" else None,
                until_ms=until if says and op != "release" else None,
                at_ms_min=begin,
                at_ms=end,
                is_final=False,
            )
        )
    return holds


def _altered(rng: random.Random, holds: list[Hold]) -> list[Hold]:
    """One of them is answered, timed or done otherwise."""
    place = rng.choice((rng.randrange(len(holds)), -1 % len(holds)))  # nothing that follows gives the last one away
    hold = holds[place]
    change: dict[str, object] = rng.choice(
        (
            {"granted": not hold.granted, "until_ms": None if hold.granted else hold.at_ms + 15},
            {"holder": rng.choice(HOLDERS)},
            {"until_ms": hold.until_ms and hold.until_ms + rng.choice((-30, -4, 30))},
            {"at_ms": hold.at_ms + 30, "at_ms_min": hold.at_ms_min + 30},
            {"token": hold.token and max(hold.token - rng.randint(1, 2), 0)},
            {"op": rng.choice(("claim", "renew", "release"))},
            {"op": "release", "outcome": "ok", "granted": True, "is_final": True},
            {"due_ms": hold.until_ms and hold.until_ms + rng.choice((-1, 0, 1))},
            {"outcome": "info", "granted": None, "token": None, "until_ms": None},
        )
    )
    return [*holds[:place], msgspec.structs.replace(hold, **change), *holds[place + 1 :]]


def _held_before(key: str) -> list[Hold]:
    """A fault too rare for chance: a holder renews while another is granted the key, claims it again, and gets it.

    The renewal is answered last.
    """

    def granted(op: str, holder: str, begin: int, end: int, at_ms: int) -> Hold:
        return Hold("", begin, end, "ok", op, key, holder, True, None, at_ms + LEASE_MS, at_ms, at_ms, False)

    return [
        granted("claim", "ada", 1, 2, 0),
        granted("claim", "bob", 3, 9, LEASE_MS),
        granted("renew", "ada", 4, 10, LEASE_MS),
        granted("claim", "ada", 11, 12, LEASE_MS + 2),
    ]


def _shown(rng: random.Random, key: str) -> list[Delivered]:
    """It is shown to its reader, somewhen."""
    at = 2 * rng.randint(1, 1_000)
    row = Delivered(at + 1, 0, key, None, None, None, True, None, None, lane="", reader="ada", begin=at)
    return [row] if rng.random() < 0.3 else []


def _streams(spark: SparkSession, facts: Iterable[Facts]) -> dict[str, DataFrame]:
    schema = {name: StructType([StructField("run", StringType()), *fact_schema(FACTS[name])]) for name in STREAMS}
    rows: dict[str, list[tuple[object, ...]]] = {name: [] for name in STREAMS}
    for of_key in facts:
        for name in STREAMS:
            rows[name] += [(RUN, *msgspec.structs.astuple(fact)) for fact in getattr(of_key, name)]
    return {name: spark.createDataFrame(rows[name], of) for name, of in schema.items()}


def _hashes(spark: SparkSession, keys: Iterable[str]) -> dict[str, int]:
    frame = spark.createDataFrame([(key,) for key in keys], "key STRING")
    hashed = frame.selectExpr("key", f"xxhash64({r.HOLD}, '{RUN}', '', key) AS hashed").collect()
    return {row.key: row.hashed for row in hashed}


@pytest.mark.parametrize("check", [lease.check, lease.check_deliveries])
def test_every_key_that_the_check_blames_is_suspect(spark: SparkSession, check: Check) -> None:
    """In thousands of small histories, sound and altered; and hardly any of the sound ones is suspect."""
    rng = random.Random(1)
    of_key = {f"key-{n}": _calls(rng, f"key-{n}") for n in range(KEYS)}
    altered = {key: _altered(rng, holds) for key, holds in of_key.items() if rng.random() < ALTERED}
    sound, of_key = of_key.keys() - altered.keys(), of_key | altered | {"held before": _held_before("held before")}
    facts = {
        key: Facts(about=[ABOUT], holds=holds, delivered=_shown(rng, key) if check is lease.check_deliveries else [])
        for key, holds in of_key.items()
    }
    kinds_of = {key: {witness.kind for witness in check(key_facts).witnesses} for key, key_facts in facts.items()}
    blamed = {key for key, kinds in kinds_of.items() if kinds}
    assert "lease_too_short" in set().union(*kinds_of.values())
    keys = _suspicion(_streams(spark, facts.values()), {check}).keys[r.HOLD]
    suspects = {key for key, hashed in _hashes(spark, of_key).items() if hashed in keys}
    assert len(blamed) > KEYS / 10
    assert (check is lease.check_deliveries) == ("shown_after_done" in set().union(*kinds_of.values()))
    assert "held before" in blamed
    assert blamed <= suspects
    if check is lease.check:
        assert not sound & blamed
        assert len(sound & suspects) < len(sound) / 5
