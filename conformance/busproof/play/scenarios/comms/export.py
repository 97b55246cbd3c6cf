"""export: the audit trail tells everything once, among the lines of others."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from busproof.play.scenarios.common import at_once, said, while_doing
from busproof.play.scenarios.comms.common import claim, complete, fail, scenario, send
from busproof.play.suite import Ctx

TURNS, AT_A_TIME = 10, 50  # an agent that sends a hundred at once must wait


def trail(ctx: Ctx) -> tuple[list[dict[str, Any]], bool]:
    """The lines of audit-trail.jsonl, and whether all are whole JSON objects."""
    path: Path = ctx.store / ".claude" / "audit-trail.jsonl"
    data = path.read_bytes() if path.exists() else b""
    rows, whole = [], not data or data.endswith(b"\n")
    for line in data.split(b"\n"):
        try:
            rows += [json.loads(line)] if line else []
        except ValueError:
            whole = False
    return [row for row in rows if isinstance(row, dict)], whole


def about(rows: list[dict[str, Any]], message_id: str) -> list[dict[str, Any]]:
    """The lines that name a message."""
    return [row for row in rows if message_id in row.values()]


@scenario("export.audit", needs=("audit", "clock"))
def audit(ctx: Ctx) -> None:
    """Every send, claim, completion, failure and dead letter is a line, with its time and its agent."""
    a, b = ctx.agent("a"), ctx.agent("b")
    done, dead = send(a, "b"), send(a, "b")
    claim(b, done)
    complete(b, done)
    for _ in range(3):
        fail(b, dead)
        ctx.advance(10_000)
    a.call("export_audit_trail")
    rows, whole = trail(ctx)
    counts = len(about(rows, done)), len(about(rows, dead))
    ctx.expect(
        "comms.export.01",
        whole and counts == (3, 8),
        f"whole {whole}; lines of a message sent, claimed and"
        f" completed, and of one sent, three times claimed and failed, and buried: {counts}",
    )
    agents = {json.dumps(row) for row in rows if not ({"a", "b"} & set(map(str, row.values())))}
    ctx.expect("comms.export.02", bool(rows) and not agents, f"lines that name no agent: {agents}")
    a.call("export_audit_trail")
    again, _ = trail(ctx)
    ctx.expect("comms.export.03", again == rows, f"exported again: {len(rows)} lines became {len(again)}")


@scenario("export.keeps_others", needs=("audit",))
def keeps_others(ctx: Ctx) -> None:
    """Lines that stood there, or that others append meanwhile, stay as they were."""
    path = ctx.store / ".claude" / "audit-trail.jsonl"
    path.parent.mkdir(exist_ok=True)
    first, second = '{"tool": "Edit", "n": 1}\n', '{"tool": "Bash", "n": 2}\n'
    path.write_text(first)
    a = ctx.agent("a")
    first_id = send(a, "b")
    a.call("export_audit_trail")
    with path.open("a") as file:
        file.write(second)
    two = send(a, "b")
    a.call("export_audit_trail")
    text = path.read_text()
    rows, whole = trail(ctx)
    kept = text.startswith(first) and text.count(second) == 1
    ctx.expect("comms.export.04", kept and whole, f"whole {whole}; the file: {text[:300]}")
    each = [len(about(rows, name)) for name in (first_id, two)]
    ctx.expect("comms.export.05", each == [1, 1], f"lines of two messages that were sent: {each}")
    path.unlink()  # somebody begins a new one
    three = send(a, "b")
    refused = a.refusal("export_audit_trail")
    lines = about(trail(ctx)[0], three)
    why = f"the file was removed; the next export: {said(refused)}; lines of a message that was sent since: {lines}"
    ctx.expect("comms.export.04", len(lines) == 1, why)


@scenario("export.keeps_any_line", needs=("audit",))
def keeps_any_line(ctx: Ctx) -> None:
    """Others' lines stay there, also where they are no JSON, no object, or lack their end."""
    path = ctx.store / ".claude" / "audit-trail.jsonl"
    path.parent.mkdir(exist_ok=True)
    first, second = b"# kept by hand", b'# a comment\n[1, 2]\n"text"\n\n'
    path.write_bytes(first)
    a = ctx.agent("a")
    send(a, "b")
    a.call("export_audit_trail")
    with path.open("ab") as file:
        file.write(second)
    send(a, "b")
    a.call("export_audit_trail")
    text = path.read_bytes()
    kept = text.startswith(first) and text.count(second) == 1
    ctx.expect("comms.export.08", kept, f"the file: {text[:600]!r}")


@scenario("export.at_once", needs=("audit",))
def exporters_at_once(ctx: Ctx) -> None:
    """Exporters that run at once write each event once."""
    sessions = [ctx.agent(name) for name in "abc"]
    names = []
    for _ in range(5):
        names += [send(session, "d") for session in sessions]
        at_once(*(lambda s=session: s.call("export_audit_trail") for session in sessions))
    rows, whole = trail(ctx)
    wrong = {name: len(about(rows, name)) for name in names if len(about(rows, name)) != 1}
    ctx.expect("comms.export.06", whole and not wrong, f"whole {whole}; messages with another number of lines: {wrong}")


@scenario("export.torn", needs=("audit",))
def torn(ctx: Ctx) -> None:
    """An exporter that died in its write leaves no broken line after the next export, even if it wrote one letter."""
    path, broken = ctx.store / ".claude" / "audit-trail.jsonl", []
    a = ctx.agent("a")
    send(a, "b")
    a.call("export_audit_trail")
    for bytes_left in (1, 2, 5, 13, 14, 40, -1):
        done = path.read_bytes()
        send(a, "b")
        a.call("export_audit_trail")
        path.write_bytes(done + path.read_bytes()[len(done) :][:bytes_left])
        send(a, "b")
        a.call("export_audit_trail")
        if not trail(ctx)[1]:
            broken.append(bytes_left)
            path.write_bytes(done)
    ctx.expect("comms.export.10", not broken, f"broken lines stay where so many bytes of a line stood: {broken}")


@scenario("export.in_turn", needs=("audit",))
def in_turn(ctx: Ctx) -> None:
    """Four exporters that start again at once: one comes as another goes, and some wait, all the time."""
    sender, sessions = ctx.agent("s"), [ctx.agent(name) for name in "abcd"]
    names = []

    def sends() -> None:
        for number in range(TURNS * AT_A_TIME):
            names.append(send(sender, "d", from_agent=f"s{number // AT_A_TIME}"))

    broken = while_doing(sends, *(partial(session.call, "export_audit_trail") for session in sessions))
    rows, whole = trail(ctx)
    lines = Counter(value for row in rows for value in row.values() if isinstance(value, str))
    wrong = {name: lines[name] for name in names if lines[name] != 1}
    why = f"{broken or 'no errors'}; whole {whole}; of {len(names)} messages {len(wrong)} have another number of lines"
    ctx.expect("comms.export.09", whole and not wrong and not broken, why)


@scenario("export.survives_kill", needs=("audit",))
def survives_kill(ctx: Ctx) -> None:
    """The acts of a process before it was killed are in the trail that another exports."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = send(a, "b")
    ctx.crash(a)
    b.call("export_audit_trail")
    rows, whole = trail(ctx)
    ctx.expect("comms.export.07", whole and len(about(rows, name)) == 1, f"lines of its message: {about(rows, name)}")
