"""Faults of comms, blob."""

import json
import secrets
import time
from pathlib import Path
from typing import Any

from plant import fault, patch

from refbus.comms import blob, bus
from refbus.comms.blob import Artifacts, ArtifactWritten
from refbus.comms.bus import CommsBus
from refbus.kernel.errors import InvalidArgument, NotFound
from refbus.kernel.files import make_path
from refbus.kernel.rules import limit as limits

CONTROL = "blob.round_trip"


@fault("comms.blob.11")
class AMissingArtifactIsNull(CommsBus):
    """An artifact that is not there holds null."""

    def read_artifact(self, artifact_path: str) -> dict[str, Any]:
        try:
            return super().read_artifact(artifact_path)
        except NotFound:
            return {"content": None}


@fault("comms.blob.10", dies_of="INTERNAL")
class AnyFileIsAnArtifact(CommsBus):
    """Any path that is asked for is read."""

    def read_artifact(self, artifact_path: str) -> dict[str, Any]:
        if not artifact_path.startswith(".claude/artifacts/a/t/") or ".." in artifact_path:
            return {"content": (self.store.root / artifact_path).read_text()}
        return super().read_artifact(artifact_path)


@fault("comms.blob.12", chaos={"points": True, "only": "write_artifact again"})
class ArtifactInPlace(CommsBus):
    """An artifact is written under its final name (C9). A kill leaves half of it."""

    # No temporary file, no rename.

    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> dict[str, Any]:
        folder = self.store.artifacts / agent_id / task_id
        make_path(folder)
        (folder / name).write_text(limits.payload(content))
        return {"artifact_path": f".claude/artifacts/{agent_id}/{task_id}/{name}"}


@fault("comms.blob.13", "comms.log.93", chaos={"power": 100})
def artifact_without_sync():
    """An artifact is renamed into its place before its bytes are on the disk."""

    def write_unsynced(path, data):
        """A temporary file and a rename, and no more."""
        scratch = path.parent / f".tmp-{secrets.token_hex(8)}"
        scratch.write_bytes(data)
        scratch.rename(path)

    patch(blob, atomic_write=write_unsynced)


@fault("comms.blob.01", control="blob.replaced_whole")
class ArtifactsByTask(CommsBus):
    """An artifact's path does not name its agent."""

    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> dict[str, Any]:
        return super().write_artifact("all", task_id, content, name)


@fault("comms.blob.03", control="blob.names")
class ArtifactsElsewhere(CommsBus):
    """Artifacts lie in another folder than they say."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.store.artifacts = self.store.root / "elsewhere"
        self.store.artifacts.mkdir(exist_ok=True)


@fault("comms.blob.05")
def artifacts_in_place():
    """An artifact is written over the old one, piece by piece."""

    def in_pieces(path: Path, data: bytes) -> None:
        with path.open("wb") as file:
            for start in range(0, len(data), 50_000):
                file.write(data[start : start + 50_000])
                file.flush()
                time.sleep(0.005)

    patch(blob, atomic_write=in_pieces)


@fault("comms.blob.02", "comms.blob.04", control="blob.replaced_whole")
class ArtifactsLoseTheirEnd(CommsBus):
    """Only the first hundred rows of an artifact are kept."""

    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> dict[str, Any]:
        if isinstance(content, dict) and "rows" in content:
            content = {"rows": content["rows"][:100]}
        return super().write_artifact(agent_id, task_id, content, name)


@fault("comms.blob.08", "comms.blob.09")
def links_are_followed():
    """A symbolic link leads out of the artifacts (C9)."""

    class Faulty(Artifacts):
        def refuse_links(self, path: Any) -> None:
            return

    patch(bus, Artifacts=Faulty)


@fault("comms.blob.07", dies_of="INTERNAL")
class NamesArePaths(CommsBus):
    """The agent's name leads anywhere (C9)."""

    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> dict[str, Any]:
        folder = self.store.artifacts / str(agent_id) / str(task_id).replace("\0", "")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(json.dumps(content))
        return {"artifact_path": f".claude/artifacts/{agent_id}/{task_id}/{name}"}


@fault("comms.blob.06")
def scratch_is_left():
    """The temporary file of an artifact is left behind."""
    atomic_write = blob.atomic_write

    def with_scratch(path: Path, data: bytes) -> None:
        path.with_name(path.name + ".tmp").write_bytes(data)
        atomic_write(path, data)

    patch(blob, atomic_write=with_scratch)


@fault("comms.blob.03", control="log.defaults", item="corpus:artifacts_of_any_name")
class SomeNamesAreKeptBack(CommsBus):
    """An artifact may not have a name that a temporary file could have."""

    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> Any:
        if ".tmp-" in f"{agent_id} {task_id} {name}":
            raise InvalidArgument("names must not hold '.tmp-'")
        return super().write_artifact(agent_id, task_id, content, name)


@fault("comms.log.71", chaos={"points": True, "only": "write_artifact"})
def tells_before_it_writes():
    """The audit trail tells of an artifact before it is written: where it is not, the trail says that it is."""
    _late: list[tuple[Any, bytes]] = []
    _write_now = blob.atomic_write
    _write = Artifacts.write_artifact

    def write_artifact(self: Artifacts, *args: Any, **how: Any) -> ArtifactWritten:
        reply = _write(self, *args, **how)
        while _late:
            _write_now(*_late.pop())
        return reply

    patch(blob, atomic_write=lambda path, data: _late.append((path, data)))
    patch(Artifacts, write_artifact=write_artifact)
