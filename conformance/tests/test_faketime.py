"""A bus that asks for the time and cannot be told it: its clock is set from outside, or it is refused."""

import contextlib
import shlex
import sqlite3
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from busproof.bus import faketime
from busproof.bus.base import DoorError
from busproof.bus.child import Child
from busproof.bus.doors import BusSpecError, open_door
from busproof.bus.faketime import LONG_AGO_MS, NOW_MS_MAX, Clock
from busproof.bus.fleet import Fleet, reference
from busproof.contract.catalogue import CORPUS, catalogue
from busproof.play.explore import corpus
from busproof.run.doctor import examine
from busproof.run.result import RowResult
from busproof.run.rows import item_names
from busproof.run.runner import run_item

MINIMAL = Path(__file__).parents[1] / "examples/minimal_python"
NO_CLOCK_SET = {'"clock": "manual"': '"clock": "wall"', ', "clock.set": clock_set': ""}
LEASES_TWICE_AS_LONG = {"LEASE_MS = 60_000": "LEASE_MS = 120_000"}
# Past the C library: the kernel's own word for when it started, and for how long it runs.
KERNELS_TIME = {
    "import json, sqlite3, sys, time": "import json, sqlite3, sys\nfrom pathlib import Path",
    "int(time.time() * 1000)": "1000 * int(Path('/proc/stat').read_text().split('btime ')[1].split()[0])"
    " + int(1000 * float(Path('/proc/uptime').read_text().split()[0]))",
}
ROWS = [row.id for row in catalogue("worker").values() if row.noun in ("lease", "presence") and row.check == CORPUS]
SCRIPTS = sorted(
    {corpus.index("worker")[row][0] for row in ROWS} | {"a_lease_is_over", "a_renewal_lasts_its_full_length"}
)
NOUNS = ("worker.lease.", "worker.presence.")
OF_TIME = [name for name in item_names("worker") if name.startswith(("lease.", "presence."))]
OF_TIME += [f"{CORPUS}:{'+'.join(SCRIPTS)}"]


def stranger(folder: Path, changes: dict[str, str]) -> str:
    """A bus that lives by `time.time()` and has no clock.set; with changes to it."""
    folder.mkdir()
    wanted = NO_CLOCK_SET | changes
    for name in ("adapter.py", "bus.py"):
        text = (MINIMAL / name).read_text()
        for before in [planned for planned in wanted if planned in text]:
            text = text.replace(before, wanted.pop(before))
        (folder / name).write_text(text)
    assert not wanted, "the example changed: nothing was planted"
    return f"exec:{shlex.join([sys.executable, str(folder / 'adapter.py')])}"


def judged(spec: str) -> dict[str, RowResult]:
    """Every row of leases and of presence."""
    with contextlib.closing(Fleet([spec], system="worker")) as fleet:
        results = [result for item in OF_TIME for result in run_item(fleet, item)]
    return {row.requirement: row for row in results if row.requirement.startswith(NOUNS)}


def with_outcome(rows: dict[str, RowResult], outcome: str) -> set[str]:
    return {name for name, row in rows.items() if row.outcome == outcome}


def test_a_bus_without_clock_set_is_judged_by_every_row_of_time(tmp_path: Path) -> None:
    """Rows that could not run do, and hold."""
    spec = stranger(tmp_path / "bus", {})
    asleep, awake = judged(spec), judged(f"faketime:{spec}")
    needs_a_clock = with_outcome(asleep, "could-not-run")
    assert {"worker.lease.05", "worker.lease.09", "worker.presence.04"} <= needs_a_clock
    assert needs_a_clock <= with_outcome(awake, "pass")
    assert with_outcome(awake, "pass") | with_outcome(awake, "not-applicable") == awake.keys()


def test_a_fault_that_only_time_shows_is_found(tmp_path: Path) -> None:
    """Leases that run twice as long break no row that can be played at once."""
    spec = stranger(tmp_path / "bus", LEASES_TWICE_AS_LONG)
    assert not with_outcome(judged(spec), "fail")
    failed = with_outcome(judged(f"faketime:{spec}"), "fail")
    assert "worker.lease.05" in failed
    assert all(name.startswith("worker.lease.") for name in failed)


def test_what_waits_for_time_to_pass_is_played_in_real_time() -> None:
    """Under a clock that stands still no lease would ever end, however right the bus is."""
    with contextlib.closing(Fleet([f"faketime:{reference('timeline')}"], system="timeline")) as fleet:
        (result,) = run_item(fleet, "cursor.comes_back")
    assert (result.requirement, result.outcome) == ("timeline.cursor.19", "pass"), result.why


def test_two_agents_may_have_two_clocks(tmp_path: Path) -> None:
    """Each session has its own, so skew can be played."""
    spec = f"faketime:{stranger(tmp_path / 'bus', {})}"
    store = tmp_path / "store"
    store.mkdir()
    with contextlib.closing(Fleet([spec], system="worker")) as fleet:
        assert fleet.hello.clock == "manual"
        early, late = (fleet.door(number, store, {}) for number in range(2))
        early.call("clock.set", {"now_ms": LONG_AGO_MS})
        late.call("clock.set", {"now_ms": LONG_AGO_MS + 90_000})
        early.call("heartbeat", {"agent_id": "a", "status": "idle"})
        assert late.call("liveness", {})["agents"][0]["age_ms"] == 90_000
        assert early.call("liveness", {})["agents"][0]["age_ms"] == 0
        for door in (early, late):
            fleet.give_back(door, retired=False)


@pytest.mark.parametrize("prefix", ["env -u LD_PRELOAD ", ""], ids=["does not load it", "asks the kernel"])
def test_a_bus_that_keeps_the_real_time_is_refused_and_not_blamed(
    prefix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the fleet, and by doctor, which names the remedy."""
    command = stranger(tmp_path / "bus", {} if prefix else KERNELS_TIME).removeprefix("exec:")
    spec = f"faketime:exec:{prefix}{command}"
    with pytest.raises(DoorError, match="cannot be set from outside"):
        Fleet([spec], system="worker")
    assert examine(spec) == 1
    assert "cannot be set from outside" in capsys.readouterr().out


def test_an_mcp_server_lives_at_the_time_that_it_is_told(tmp_path: Path) -> None:
    """The reference of topics, which has no clock.set."""
    with contextlib.closing(Fleet([f"faketime:{reference('topics')}"], system="topics")) as fleet:
        door = fleet.door(0, tmp_path, {})
        door.call("clock.set", {"now_ms": LONG_AGO_MS})
        door.call("topic_create", {"name": "news"})
        with contextlib.closing(sqlite3.connect(tmp_path / "agent_bus.sqlite")) as db:
            assert [round(at_s * 1000) for (at_s,) in db.execute("SELECT created_at FROM topics")] == [LONG_AGO_MS]
        fleet.give_back(door, retired=False)


@pytest.mark.parametrize("spec", ["faketime:", "faketime:exec:", "faketime:sqlite:", "faketime:nats:exec:cat"])
def test_only_a_program_can_have_its_clock_set(spec: str) -> None:
    """Anything else there is refused, and the refusal says what may stand there."""
    with pytest.raises(BusSpecError, match=r"exec:CMD… or mcp:CMD…"):
        open_door(spec)


def test_a_machine_without_the_library_is_told_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """By any command that starts the bus."""
    monkeypatch.setattr(faketime, "_FOLDERS", ())
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(DoorError, match=r"pip install .*\[faketime\]'.*apt-get install libfaketime"):
        open_door("faketime:exec:cat")


ASKED = "import sys, time\nfor _ in sys.stdin: print(time.time_ns() // 1_000_000, int(time.time() * 1000), flush=True)"


def test_a_program_sees_each_millisecond_that_it_is_told() -> None:
    """However it asks, and nothing is left of it."""
    clock = Clock(Child)
    child = clock([sys.executable, "-c", ASKED])

    @settings(max_examples=200, deadline=None)
    @given(st.integers(0, NOW_MS_MAX))
    @example(8_720_490_786_067)  # behind 2^33 s, where floats are two microseconds apart
    def holds(now_ms: int) -> None:
        clock.set(now_ms)
        child.write_line(b"")
        assert child.read_line("the time").split() == [str(now_ms).encode()] * 2

    holds()
    child.close()
    clock.close()
    ours = {f"faketime_shm_{child.pid}", f"sem.faketime_sem_{child.pid}"}
    assert not ours & {path.name for path in Path("/dev/shm").iterdir()}


@pytest.mark.parametrize("partner", [[], ["sqlite:"]], ids=["alone", "mixed"])
@pytest.mark.parametrize("item", ["presence.peers", "presence.touched", "log.fields", "lease.expiry"])
def test_a_sound_server_of_topics_at_the_kit_s_time_breaks_no_row(item: str, partner: list[str]) -> None:
    """Events are looked up at the time that its servers were told, and not at the machine's."""
    with contextlib.closing(Fleet([f"faketime:{reference('topics')}", *partner], system="topics")) as fleet:
        outcomes = {result.requirement: result.outcome for result in run_item(fleet, item)}
    assert outcomes
    assert set(outcomes.values()) <= {"pass", "not-applicable"}
