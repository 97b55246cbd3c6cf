"""blob: artifacts are whole or not there, and lie inside their folder."""

from __future__ import annotations

import os
import shutil
from typing import Any

from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, at_once, definite, said
from busproof.play.scenarios.comms.common import receive, scenario, send
from busproof.play.suite import Ctx


def write(session: Session, content: object, task: str = "t", **params: Any) -> str:
    """Write an artifact; returns its path."""
    return str(session.call("write_artifact", task_id=task, content=content, **params)["artifact_path"])


@scenario("blob.round_trip")
def round_trip(ctx: Ctx) -> None:
    """Another agent reads the content that was written, at the place that the seed names."""
    a, b = ctx.agent("a"), ctx.agent("b")
    content = {"rows": [{"n": n, "text": "ü" * 40} for n in range(500)]}
    path = write(a, content)
    ctx.expect("comms.blob.01", path == ".claude/artifacts/a/t/result.json", f"the path is {path!r}")
    read = b.call("read_artifact", artifact_path=path)["content"]
    ctx.expect("comms.blob.02", read == content, f"read back: {str(read)[:200]}")
    ctx.expect("comms.blob.03", (ctx.store / path).is_file(), f"there is no file {path} in the project")
    send(a, "b", message_type="task.complete", payload={"task_id": "t", "artifact_path": path})
    path_told = receive(b)[0]["payload"]["artifact_path"]
    by_reference = b.call("read_artifact", artifact_path=path_told)["content"]
    ctx.expect("comms.blob.04", by_reference == content, "the artifact that a message refers to is another")
    for tidied in (".claude/artifacts/a", ".claude/artifacts"):
        shutil.rmtree(ctx.store / tidied, ignore_errors=True)
        refused = a.refusal("write_artifact", task_id="t", content=content)
        good = refused is None and b.call("read_artifact", artifact_path=path)["content"] == read
        ctx.expect("comms.blob.03", good, f"{tidied} was removed, and the artifact is written again: {said(refused)}")
    (ctx.store / "here").symlink_to(ctx.store)
    if a.refusal("open", store=str(ctx.store / "here"), options={}) is None:
        refused = a.refusal("write_artifact", task_id="t", content=2)
        good = refused is None and b.call("read_artifact", artifact_path=path)["content"] == 2
        ctx.expect("comms.blob.03", good, f"written by one who has opened the project by a link to it: {said(refused)}")


@scenario("blob.replaced_whole")
def replaced_whole(ctx: Ctx) -> None:
    """Rewritten, it is the new one, whole, even if others read or write meanwhile; and nothing else is left behind."""
    a, also_a, b = ctx.agent("a"), ctx.agent("a"), ctx.agent("b")
    long, short = {"v": "x" * 200_000}, {"v": "y"}
    path = write(a, long)

    def rewrite(session: Session, content: Row) -> Row:
        # Often enough that two writers meet in the act: if both use one temporary file, one loses its content.
        for _ in range(100):
            write(session, content)
        return {}

    def read() -> Row:
        return {"all": [b.call("read_artifact", artifact_path=path)["content"] for _ in range(100)]}

    *written, read_ = at_once(lambda: rewrite(a, long), lambda: rewrite(also_a, short), read)
    contents = read_["all"] if isinstance(read_, dict) else [read_]
    torn = [str(content)[:60] for content in contents if content not in (long, short)]
    ctx.expect(
        "comms.blob.05",
        written == [{}, {}] and not torn,
        f"two processes wrote while one read, and were answered {written}; read and written by neither: {torn[:3]}",
    )
    names = sorted(os.listdir((ctx.store / path).parent))
    ctx.expect("comms.blob.06", names == ["result.json"], f"left in the artifact's folder: {names}")


@scenario("blob.names")
def names(ctx: Ctx) -> None:
    """agent_id, task_id and name never lead out of the artifacts (C9)."""
    a = ctx.agent("a")
    outside = ctx.store / "outside"
    outside.mkdir()
    bad = [
        {"agent_id": "../../outside"},
        {"agent_id": ".."},
        {"agent_id": "/tmp"},
        {"agent_id": ""},
        {"task_id": "../../../outside"},
        {"task_id": ".."},
        {"task_id": "a/b"},
        {"task_id": "x\0y"},
        {"name": "../result.json"},
        {"name": "a/b"},
        {"name": ".."},
    ]
    soft = {}
    for params in bad:
        answer = a.refusal("write_artifact", **{"task_id": "t", "content": {}, **params})
        if not definite(answer):
            soft[str(params)] = said(answer)
    ctx.expect("comms.blob.07", not soft and not os.listdir(outside), f"{soft}; outside: {os.listdir(outside)}")


@scenario("blob.links")
def links(ctx: Ctx) -> None:
    """A symbolic link is followed neither in writing nor in reading (C9)."""
    a = ctx.agent("a")
    write(a, {"k": 1})
    outside = ctx.store / "outside"
    outside.mkdir()
    (outside / "result.json").write_text('{"secret": 1}')
    artifacts = ctx.store / ".claude" / "artifacts"
    (artifacts / "mallory").symlink_to(outside.parent)
    (artifacts / "a" / "linked").symlink_to(outside)
    write_answers = [
        a.refusal("write_artifact", task_id="linked", content={}),
        a.refusal("write_artifact", agent_id="mallory", task_id="outside", content={}),
    ]
    kept = (outside / "result.json").read_text() == '{"secret": 1}'
    ctx.expect(
        "comms.blob.08",
        kept and all(definite(r) for r in write_answers),
        f"written through a link: {[said(r) for r in write_answers]}; the file is intact: {kept}",
    )
    read_answers = [
        a.refusal("read_artifact", artifact_path=".claude/artifacts/a/linked/result.json"),
        a.refusal("read_artifact", artifact_path=".claude/artifacts/mallory/outside/result.json"),
    ]
    ctx.expect("comms.blob.09", all(definite(r) for r in read_answers), f"read: {[said(r) for r in read_answers]}")


@scenario("blob.paths")
def paths(ctx: Ctx) -> None:
    """Only artifacts are read, and one that is not there is said to be so."""
    a = ctx.agent("a")
    write(a, {"k": 1})
    (ctx.store / "secret.json").write_text("{}")
    bad = [
        "secret.json",
        ".claude/artifacts/../../secret.json",
        str(ctx.store / "secret.json"),
        ".claude/artifacts",
        ".claude/artifacts/a/t/../../../../secret.json",
        "",
    ]
    soft = {path: said(r) for path in bad if not definite(r := a.refusal("read_artifact", artifact_path=path))}
    ctx.expect("comms.blob.10", not soft, f"read: {soft}")
    missing = a.refusal("read_artifact", artifact_path=".claude/artifacts/a/t/none.json")
    ctx.expect("comms.blob.11", definite(missing, "NOT_FOUND"), f"an artifact that is not there: {said(missing)}")
