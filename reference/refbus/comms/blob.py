"""Artifacts: large results in files of their own, `.claude/artifacts/AGENT/TASK/NAME`, written whole or not at all.

Names become parts of a path, so they are held to a name's rules, and their target must lie where it seems to lie:
no symbolic link on the way (C9).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from refbus.comms.export import Audit
from refbus.comms.store import Store
from refbus.kernel import jsontext
from refbus.kernel.blob import BYTES_MAX
from refbus.kernel.errors import BlobCorrupt, InvalidArgument, NotFound, after_a_part, of_os_error
from refbus.kernel.files import atomic_write, make_folder, make_path, read_whole
from refbus.kernel.rules import limit as limits

ROOT = (".claude", "artifacts")


class ArtifactWritten(TypedDict):
    """write_artifact: the path, relative to the project."""

    artifact_path: str


class ArtifactContent(TypedDict):
    """read_artifact: any JSON value."""

    content: Any


class Artifacts:
    """write_artifact and read_artifact."""

    def __init__(self, store: Store, audit: Audit) -> None:
        self.store, self.audit = store, audit

    def write_artifact(self, agent_id: str, task_id: str, content: Any, name: str = "result.json") -> ArtifactWritten:
        """Store JSON durably; the path that is returned is relative to the project.

        Errors: INVALID_ARGUMENT for names that lead elsewhere, PAYLOAD_TOO_LARGE, DISK_FULL, IO_ERROR; an error that
        is not definite may have left the file without its audit record.
        """
        for what, value in (("agent_id", agent_id), ("task_id", task_id), ("name", name)):
            limits.name(what, value)
        text = limits.payload(content)
        path = self.store.artifacts / agent_id / task_id / name
        self.refuse_links(path)
        make_path(path.parent.parent)  # somebody may have tidied all of it away
        make_folder(path.parent)
        atomic_write(path, text.encode())
        relative = "/".join((*ROOT, agent_id, task_id, name))
        with after_a_part(), self.store.transaction() as tx:  # of the file, only the record may be missing
            self.audit.record(tx, "artifact", agent_id, None, path=relative, bytes=len(text))
        return {"artifact_path": relative}

    def read_artifact(self, artifact_path: str) -> ArtifactContent:
        """The content.

        Errors: INVALID_ARGUMENT for a path that leads elsewhere, NOT_FOUND, IO_ERROR, BLOB_CORRUPT for an artifact that
        is no JSON, no file, or too large.
        """
        parts = limits.text("artifact_path", artifact_path).split("/")
        if tuple(parts[:2]) != ROOT or len(parts) != 5:
            raise InvalidArgument(f"an artifact is .claude/artifacts/AGENT/TASK/NAME, not {artifact_path!r:.100}")
        for part in parts[2:]:
            limits.name("a part of artifact_path", part)
        path = self.store.artifacts.joinpath(*parts[2:])
        self.refuse_links(path)
        try:
            data = read_whole(path, BYTES_MAX)
        except FileNotFoundError:
            raise NotFound(f"there is no {artifact_path!r:.100}") from None
        except OSError as error:
            raise of_os_error(error, definite=True) from error
        try:
            return {"content": jsontext.decode(data.decode())}
        except ValueError as error:
            raise BlobCorrupt(f"{artifact_path!r:.100} holds no JSON: {error!s:.100}") from error

    def refuse_links(self, path: Path) -> None:
        """Raise INVALID_ARGUMENT unless the path is what it seems to be."""
        root = self.store.artifacts.resolve()
        try:
            is_itself = path.resolve() == root / path.relative_to(self.store.artifacts)
        except (OSError, RuntimeError):  # a link to itself
            is_itself = False
        if not is_itself:
            raise InvalidArgument(f"a symbolic link is on the way to {path.name!r:.80}")
