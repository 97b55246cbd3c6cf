"""`busproof demo`: the whole kit in one to two minutes, on the reference `worker` bus.

Four acts, each the command that a user would type, each with its verdict: check the reference; check a bus with one
planted fault, which must come out invalid; kill writers and record the history; let Spark verify that history.
The demo succeeds when each act ends as it must, so it is a test of the kit too.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from busproof.contract.history import read
from busproof.faults.record import faults

MUTANT = "ack_beyond_the_log"
MUTANT_CHECK = "cursor.ack_beyond_the_log"


@dataclass(frozen=True)
class Act:
    """One command of the demo and the exit code that it must end with."""

    title: str
    argv: list[str]
    must_exit: int
    why: str
    shows: Callable[[], str] = lambda: "ok"  # the promise of its title, as it was kept; nothing if it did not come true


def main(argv: Sequence[str] | None = None) -> int:
    """Play the acts. Exit 0 if each ended as it must, else 2: no bus of the user's was judged."""
    parser = argparse.ArgumentParser(prog="busproof demo", description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("busproof-out/demo"), help="folder for reports and history")
    parser.add_argument("--seed", type=int, default=7, help="seed of the search and of the chaos plan (default 7)")
    args = parser.parse_args(argv)
    args.out.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    ended = [_play(number, act) for number, act in enumerate(_acts(args.out, args.seed), 1)]
    _say(f"\n{sum(ended)} of {len(ended)} acts ended as they must, in {time.monotonic() - started:.0f} s.")
    _say(f"Open  {args.out / 'check' / 'report.html'}  and  {args.out / 'mutant' / 'report.html'}")
    _say("Next, your own bus:  busproof init worker python my-adapter")
    return 0 if all(ended) else 2


def _acts(out: Path, seed: int) -> list[Act]:
    mutant = faults("worker")[MUTANT].spec()
    history = str(out / "chaos" / "history.jsonl")
    check = ["check", "worker", "--seed", str(seed)]
    chaos = ["chaos", "worker", "--kills", "20", "--seed", str(seed), "--out", str(out / "chaos")]
    return [
        Act("Check the reference bus, over stdio", [*check, "--out", str(out / "check")], 0, "valid"),
        Act(
            "Check a bus with one planted fault: ack(10**9) makes an agent deaf for ever",
            [*check, "--bus", mutant, "--only", MUTANT_CHECK, "--mixed-with", "none", "--out", str(out / "mutant")],
            1,
            "invalid: the kit finds it",
        ),
        Act(
            "Kill writers in the middle of a transaction, and record the history",
            chaos,
            0,
            "nothing acknowledged is lost",
            lambda: _halfway(out / "chaos" / "history.jsonl"),
        ),
        Act("Let Spark verify that history", ["audit", history, "--engine", "both"], 0, "valid, and Python agrees"),
    ]


def _play(number: int, act: Act, run: Callable[..., subprocess.CompletedProcess[bytes]] = subprocess.run) -> bool:
    _say(f"\n── {number}. {act.title}\n   $ busproof {shlex.join(act.argv)}")
    exit_code = run([sys.executable, "-m", "busproof", *act.argv], check=False).returncode
    shown = act.shows() if exit_code == act.must_exit else ""
    good = bool(shown)
    if shown != "ok":
        _say(f"── {number}. {shown or 'what the title says did not come true'}")
    _say(f"── {number}. exit {exit_code}: {act.why if good else f'UNEXPECTED, must be {act.must_exit}'}")
    return good


def _halfway(history: Path) -> str:
    """Where writers were killed with a part of their call written, by the history itself."""
    kills = [event for event in read(history) if event.type == "nemesis" and event.op == "kill"]
    struck = [kill for kill in kills if kill.value.get("is_halfway")]
    if not struck:
        return ""
    places = Counter(f"{kill.value['during']} before {kill.value['struck'].partition(': ')[2]}" for kill in struck)
    often = "; ".join(place for place, _ in places.most_common(3))
    return f"{len(struck)} of {len(kills)} kills left a part written and the rest not: {often}"


def _say(text: str) -> None:
    print(text, flush=True)
