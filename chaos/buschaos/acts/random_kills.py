"""chaos.random_kills: agents side by side, killed again and again; then everything is read and judged."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from buschaos import judge, plan, reading, workload
from buschaos.acts.base import Act, Scene, Shared, Words, flag
from buschaos.nemeses import server, syscalls
from buschaos.state import Evidence, Problem
from buschaos.subjects.base import Subject
from busproof.contract.history import read

KILLS = 200
KILLS_OF_SLOW_STARTERS = 40
KILLS_FEW, CALLS_FEW = 8, 50  # of a sample, and calls for each of these kills


@dataclass(frozen=True)
class Own:
    """How much of it."""

    kills: int
    calls: int | None = None  # for each of these kills


class RandomKills(Act[Own]):
    """Plays a drawn plan, reads everything, judges."""

    name = "chaos.random_kills"
    flag = "kills"
    own = Own
    folders = ("kills",)
    length = 3
    compares = False
    plays_servers = True

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--kills", type=int, metavar="N", help="kill N sessions while agents work side by side")
        usual = f"{plan.CALLS_PER_KILL}; MCP: {plan.CALLS_PER_KILL_SLOW}"
        parser.add_argument(
            "--calls", type=int, metavar="N", help=f"with N calls for each of these kills: a long history ({usual})"
        )

    def usual(self, subject: Subject) -> dict[str, Any]:
        return {"kills": KILLS_OF_SLOW_STARTERS if subject.is_slow_to_start else KILLS}

    def hurried(self, words: Words, subject: Subject) -> dict[str, Any]:
        return {"kills": KILLS_FEW} | ({} if subject.is_slow_to_start else {"calls": CALLS_FEW})

    def why_not(self, scene: Scene, own: Own) -> None:
        """It can be played on every bus."""

    def play(self, scene: Scene, own: Own) -> None:
        findings = scene.findings
        if scene.time.is_sample:
            findings.spared["kills"] = self.usual(scene.subject)["kills"] - own.kills
        on_a_server = server.is_on_a_server(scene.shared.specs)
        unsupervised = "its files are a server's" if on_a_server else syscalls.why_unavailable()
        if unsupervised:
            findings.notes.append(f"no kills at system calls, kills after answers instead: {unsupervised}")
        drawn = _drawn(scene, own, is_supervised=not unsupervised, on_a_server=on_a_server)
        tally, evidence = _played(scene, drawn, on_a_server=on_a_server)
        judgement = judge.of_history(history := scene.shared.out / "history.jsonl")
        _tell(scene, drawn, tally, evidence)
        findings.undecided = [*judgement.undecided, *findings.undecided]
        if not reading.can_dump(scene.fleet.hello):
            if judgement.decides("durable"):
                findings.notes.append(reading.BY_WHAT_IS_SHOWN)
            else:
                findings.undecided.append(reading.WHY_NOT)
        idle = [
            check
            for check in judgement.idle
            if judge.is_asked(f"history.{check}", scene.fleet.hello, scene.shared.system)
        ]
        unlooked = [f"the check {check} had nothing to judge: the history has no such operation" for check in idle]
        # Where files are sent, nothing is acknowledged, and the last reading decides alone. A sample decides the rest.
        decides = scene.subject.retried and not scene.time.is_sample
        (findings.undecided if decides else findings.notes).extend(unlooked)
        findings.add(
            [
                *(Problem("log", strange) for strange in tally.strange),
                *evidence.endless,
                *scene.subject.truth.problems(evidence),
                *scene.subject.truth.deliveries(read(history)),
                *judgement.problems,
            ],
            history,
        )

    def again(self, shared: Shared, own: Own) -> str:
        return f"--kills {own.kills}{flag('calls', own.calls)} --seed {shared.seed}"


def _drawn(scene: Scene, own: Own, *, is_supervised: bool, on_a_server: bool) -> plan.Plan:
    """The plan, which is also written beside the history."""
    subject, hello = scene.subject, scene.fleet.hello
    usual = plan.CALLS_PER_KILL_SLOW if subject.is_slow_to_start else plan.CALLS_PER_KILL
    drawn = plan.draw(
        scene.shared.seed,
        own.kills,
        [*hello.nouns, *hello.features],
        subject.roles,
        supervised=is_supervised,
        sleeps=not (subject.is_alone or on_a_server),
        calls_per_kill=own.calls or usual,
    )
    if on_a_server:
        drawn = plan.with_server_deaths(drawn)
    (scene.shared.out / "plan.json").write_text(json.dumps(drawn.as_json(), indent=1) + "\n", encoding="utf-8")
    return drawn


def _played(scene: Scene, drawn: plan.Plan, *, on_a_server: bool) -> tuple[workload.Tally, Evidence]:
    """The plan, played, and the last reading of the store."""
    shared, fleet, findings = scene.shared, scene.fleet, scene.findings
    # In a folder of its own, with the files that agents keep beside their store: a later run must not take them over.
    (store := shared.out / "kills" / "store").mkdir(parents=True)
    # An audit takes histories of one name for parts of one run: another run of the same seed has another name.
    name = f"chaos-{shared.seed}-{uuid4().hex[:8]}"
    with contextlib.ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="busproof-chaos-")))
        part = scratch / "part-server.jsonl"
        under = stack.enter_context(server.under(store, part, run=name)) if on_a_server else None
        tally, parts = workload.play(
            drawn,
            specs=shared.specs,
            system=shared.system,
            store=store,
            parts=scratch,
            run=name,
            manual_clock=fleet.hello.clock == "manual",
            header=_header(scene, drawn),
            progress=lambda text: findings.progress.say(f"random kills: {text}"),
            limit=scene.time,
            meanwhile=lambda round_: under.strike(drawn.server[round_]) if under else None,
        )
        findings.left_out[f"of {drawn.rounds} rounds"] = tally.rounds_left
        findings.counts["kills of the server"] = under.count if under else 0
        findings.progress.say("random kills: reading everything, and judging")
        readers = {role.name for role in scene.subject.roles if role.reads}
        evidence = judge.read_to_the_end(
            fleet,
            store,
            [*parts, *([under.told()] if under else [])],
            shared.out / "history.jsonl",
            run=name,
            agents=sorted({agent.name for agent in drawn.agents if agent.role in readers}),
            now_ms=drawn.now_ms(drawn.rounds),
        )
    return tally, evidence


def _tell(scene: Scene, drawn: plan.Plan, tally: workload.Tally, evidence: Evidence) -> None:
    """Counts, notes, and the doubts that do not come from a check."""
    findings, hello = scene.findings, scene.fleet.hello
    kills_of_server = findings.counts.pop("kills of the server")
    findings.counts.update(
        {
            "kills": tally.kills.total(),
            "of them in the middle of a call": tally.cut_calls,
            "of these when a part was written": len(tally.halfway),
            "kills of the server": kills_of_server,
            "calls": tally.calls,
            "acknowledged messages": len(evidence.promises),
            "calls tried again": tally.retries,
        }
    )
    findings.progress.point(tally.kills.total())
    findings.notes.append("kills by kind: " + ", ".join(f"{kind} {n}" for kind, n in sorted(tally.kills.items())))
    if hello.clock == "manual":
        wrong = sum(any(offsets) for offsets in zip(*(agent.offsets_ms for agent in drawn.agents), strict=True))
        findings.notes.append(f"in {wrong} of {drawn.rounds} rounds the clocks of some agents were wrong")
    if tally.halfway:
        findings.notes.append(f"a part was written, the rest never, as in {tally.halfway[0]}")
    if tally.refusals:
        codes = ", ".join(f"{code} {n}" for code, n in sorted(tally.refusals.items()))
        findings.notes.append(f"refusals: {codes} (those that the plan does not count on are problems, below)")
    if scene.subject.retried and not evidence.promises:  # if files are sent, nothing is acknowledged
        findings.undecided.append("no message was acknowledged, so none can be lost")


def _header(scene: Scene, drawn: plan.Plan) -> dict[str, Any]:
    """All that a reader of the history needs to play it again."""
    digest = hashlib.sha256(json.dumps(drawn.as_json(), sort_keys=True).encode()).hexdigest()
    return {
        "plan": {"seed": drawn.seed, "kills": drawn.kills, "rounds": drawn.rounds, "sha256": digest},
        "options": {},
        "bus": scene.shared.specs,
        "hello": [hello.model_dump() for hello in scene.fleet.hellos],
    }
