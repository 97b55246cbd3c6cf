"""The kit's hand on a folder of `relay`: the agents, who only write and read files, and all else that may be there."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import signal
import stat
import time
from pathlib import Path
from typing import Any

from busproof.bus.hand import Hand

MODE = 0o600
ODD_PROGRAM = "a tool) S 1 (2"  # in `clis`: the file of a program may have any name, and /proc tells it as it is
WAITS = '#!/bin/sh\nread x <> "$0.never"\n'  # a script that starts no other program, which would be known by its own
LONG_S = 20.0  # for a process to say a word, or to be gone; no wait is longer than it takes


class RelayHand(Hand):
    """By the letter of seed 002, sections 1 and 3, without any orchestrator."""

    DATABASE = "ledger.db"
    LOOK = "folder"
    ON_FILES = (
        *("config", "agent", "link_agent", "write", "remove", "attach", "detach", "take", "block", "unblock", "place"),
        "folder",
    )

    def __init__(self, store: Path, name: str = "hand") -> None:
        super().__init__(store)
        self._name, self._numbers = name, itertools.count()

    def config(self, **values: Any) -> dict[str, Any]:
        """Write config.json. ODD_PROGRAM in it is a program of that name, which waits to be ended."""
        text, program = json.dumps(values), self.store.parent / ODD_PROGRAM
        if ODD_PROGRAM in text and not program.exists():
            program.write_text(WAITS)
            program.chmod(0o700)
            os.mkfifo(f"{program}.never")
        path = self.store / "config.json"
        path.write_text(text.replace(ODD_PROGRAM, str(program)), encoding="utf-8")
        path.chmod(MODE)
        return {}

    def agent(self, name: str) -> dict[str, Any]:
        """Make an agent's outbox, as appendix A does."""
        self._outbox(name, "pending").mkdir(mode=0o700, parents=True, exist_ok=True)
        return {}

    def link_agent(self, name: str) -> dict[str, Any]:
        """An agent's folder elsewhere, with a message in it, and a link to it in agents."""
        elsewhere = self.store.parent / f"elsewhere-{name}"
        (elsewhere / "outbox").mkdir(parents=True)
        (elsewhere / "outbox" / "1700000000000000000-0000abcd.msg").write_text("TO: *\n\nfrom outside\n", "utf-8")
        (self.store / "agents").mkdir(mode=0o700, exist_ok=True)
        (self.store / "agents" / name).symlink_to(elsewhere)
        return {}

    def litter(self, name: str) -> dict[str, Any]:
        """A thing among the agents' folders that is none of them."""
        agents = self.store / "agents"
        agents.mkdir(mode=0o700, exist_ok=True)
        (agents / name).write_text("TO: *\n\nlitter\n", "utf-8")
        return {}

    def write(
        self, agent: str, file: str, data: str, mtime_ns: int, place: str = "outbox", odd: str = "", end: str = ""
    ) -> dict[str, Any]:
        """Put a file in an outbox or its .pending, whole, with this time; or another thing under its name.

        `in_place` is not another thing, but another way: over the file that is there, which keeps its inode. `one_name`
        takes the other name of a `hard_link` away: the same file, and now a good one.
        """
        self.agent(agent)
        whole, path = self.store.parent / f"{self._name}-{next(self._numbers)}", self._outbox(agent, place) / file
        if odd == "in_place":
            if not path.is_file():  # to open a fifo would wait for ever
                raise FileNotFoundError(path)
            path.write_bytes(data.encode() + bytes.fromhex(end))
            os.utime(path, ns=(mtime_ns, mtime_ns))
            return {"inode": path.stat().st_ino}
        if odd == "one_name":
            inode = path.stat().st_ino
            for other in self.store.parent.glob(f"{self._name}-*"):
                if other.lstat().st_ino == inode:
                    other.unlink()
            return {"inode": inode}
        self._clear(path)
        if odd == "not_regular":
            os.mkfifo(whole) if data else whole.mkdir()
        else:
            whole.write_bytes(data.encode() + bytes.fromhex(end))
            whole.chmod(MODE)
        os.utime(whole, ns=(mtime_ns, mtime_ns))
        inode = whole.lstat().st_ino  # an orchestrator that runs by itself may have moved the file by the next look
        if odd == "symlink":
            path.symlink_to(whole)
            os.utime(path, ns=(mtime_ns, mtime_ns), follow_symlinks=False)
            inode = path.lstat().st_ino
        elif odd == "hard_link":
            path.hardlink_to(whole)
        else:
            whole.rename(path)
        return {"inode": inode}

    def remove(self, agent: str, file: str, place: str = "outbox") -> dict[str, Any]:
        """Take a file away again."""
        self._clear(self._outbox(agent, place) / file)
        return {}

    def attach(
        self, name: str, data: str, odd: bool | str = False, times: int = 1, in_place: bool = False
    ) -> dict[str, Any]:
        """Put an attachment under this hash, even if its own differs; it has the data so many times.

        `in_place`: into the file that is there, which keeps its inode. `odd`: a folder (True, not_regular), or the same
        content behind a link (symlink), or with a second name (hard_link).
        """
        path = self.store / "attachments" / name[:2] / name
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not in_place:
            self._clear(path)
        if odd is True or odd == "not_regular":
            path.mkdir()
            return {}
        whole = self._new("attached") if odd else path
        whole.write_text(data * times, encoding="utf-8", newline="")
        if odd == "symlink":
            path.symlink_to(whole)
        elif odd == "hard_link":
            path.hardlink_to(whole)
        return {}

    def detach(self, name: str) -> dict[str, Any]:
        """Take an attachment away again."""
        self._clear(self.store / "attachments" / name[:2] / name)
        return {}

    def take(self, agent: str, folder_too: bool = False) -> dict[str, Any]:
        """Read an inbox, in the order of names, and clear it; or take the whole folder away."""
        inbox = self.store / "agents" / agent / "inbox"
        taken = self._listed(inbox)
        if folder_too:
            self._clear(inbox)
            return {"inbox": taken}
        for entry in taken:
            self._clear(inbox / entry["name"])
        return {"inbox": taken}

    def block(self, agent: str, odd: str) -> dict[str, Any]:
        """Something else in the inbox's place: a link to an empty folder, or a file. Its content goes, too."""
        inbox = self.store / "agents" / agent / "inbox"
        inbox.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._clear(inbox)
        if odd == "symlink":
            (elsewhere := self._new("elsewhere")).mkdir()
            inbox.symlink_to(elsewhere)
        else:
            inbox.write_bytes(b"")
        return {}

    def unblock(self, agent: str) -> dict[str, Any]:
        """Take it away: there is no inbox."""
        self._clear(self.store / "agents" / agent / "inbox")
        return {}

    def place(self) -> dict[str, Any]:
        """A path beside the folder, for a copy of the ledger; with signs that mean something in a URI."""
        return {"path": str(self._new("50% of #1? a copy"))}

    def said(self, agent: str) -> dict[str, Any]:
        """The things that the program SAYER was started with as this agent; None if no process of the agent runs."""
        pid, path = self._pid(agent), self.store.parent / f"said-{agent}"
        until = time.monotonic() + LONG_S
        while pid and self._runs(pid) and time.monotonic() < until:
            words = path.read_bytes().decode(errors="replace").split("\0") if path.exists() else [""]
            if words[0] == str(pid):
                _, name, root, folder, colour, size, *prompt = words[:-1]
                is_ours = root == os.path.realpath(self.store)
                return {
                    "said": {"name": name, "root": is_ours, "folder": folder, "env": [colour, size], "args": prompt}
                }
            time.sleep(0.01)
        return {"said": None}

    def kill(self, agent: str) -> dict[str, Any]:
        """The process of an agent ends, by no request; returns when it has."""
        pid = self._pid(agent)
        if pid and self._runs(pid):
            with contextlib.suppress(ProcessLookupError):  # it has ended by itself
                os.kill(pid, signal.SIGKILL)
            until = time.monotonic() + LONG_S
            while self._runs(pid) and time.monotonic() < until:
                time.sleep(0.001)
        return {}

    def _pid(self, agent: str) -> int | None:
        """The number in the ledger. Raises ProcessLookupError if another process of this machine has it."""
        row = self.db.execute("SELECT pid FROM agents WHERE name = ?", (agent,)).fetchone()
        pid = row[0] if row and type(row[0]) is int and row[0] > 1 else None
        if pid and self._runs(pid) and not self._is_an_agents(pid):
            raise ProcessLookupError(f"process {pid} was not started for this folder")
        return pid

    def _is_an_agents(self, pid: int) -> bool:
        """Was it told that it works here?"""
        try:
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except (PermissionError, FileNotFoundError, ProcessLookupError):
            return False
        folders = [text.partition(b"=")[2] for text in variables if text.startswith(b"AGENT_RELAY_DIR=")]
        return any(os.path.realpath(folder) == os.path.realpath(os.fsencode(self.store)) for folder in folders)

    def _runs(self, pid: int) -> bool:
        """A zombie does not: only its parent has not looked yet."""
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
        except (FileNotFoundError, ProcessLookupError):
            return False

    def _new(self, what: str) -> Path:
        """A path beside the folder that nothing has yet."""
        return self.store.parent / f"{self._name}-{what}-{next(self._numbers)}"

    def claim(self, message_id: str) -> dict[str, Any]:
        """Set a message to processing, like an orchestrator that dies after it."""
        end = f"/agents/{message_id.replace('/', '/outbox/')}.msg"  # to the letter: LIKE takes Ann for ann
        self.db.execute(
            "UPDATE messages SET status = 'processing' "
            "WHERE substr('/' || file_path, -length(?1)) = ?1 AND status = 'pending'",
            (end,),
        )
        return {}

    def ledger(self) -> dict[str, Any]:
        """The rows of the seed's tables about messages and agents."""
        return {
            "messages": self._rows("SELECT * FROM messages ORDER BY id"),
            "agents": self._rows("SELECT * FROM agents ORDER BY name"),
        }

    def folder(self) -> dict[str, Any]:
        """The content of the agents' folders, of the archive and of tmp."""
        agents = self.store / "agents"
        names = sorted(folder.name for folder in agents.iterdir() if folder.is_dir() and not folder.is_symlink())
        archive = self.store / "archive"
        kept = sorted(archive.rglob("*"), key=lambda path: path.relative_to(archive).parts)
        return {
            "agents": [self._agent(agents / name) for name in names],
            "archive": [
                {"path": str(path.relative_to(archive)), "data": path.read_bytes()} for path in kept if path.is_file()
            ],
            "tmp": [path.name for path in (self.store / "tmp").iterdir()],
        }

    def _agent(self, home: Path) -> dict[str, Any]:
        outbox, inbox = home / "outbox", home / "inbox"
        return {
            "name": home.name,
            "outbox": self._listed(outbox),
            "pending": self._listed(outbox / ".pending"),
            "inbox": self._listed(inbox),
            "is_whole": all(folder.is_dir() for folder in (outbox, outbox / ".pending", inbox)),
        }

    def _listed(self, folder: Path) -> list[dict[str, Any]]:
        """Entries by name; files with their content."""
        paths = sorted(folder.iterdir()) if folder.is_dir() else []
        return [self._told(path) for path in paths if path.name != ".pending"]

    def _told(self, path: Path) -> dict[str, Any]:
        is_what = path.lstat()
        if stat.S_ISREG(is_what.st_mode):
            looks = {"inode": is_what.st_ino, "links": is_what.st_nlink}
            return {"name": path.name, "kind": "file", "data": path.read_bytes(), **looks}
        return {"name": path.name, "kind": "symlink" if stat.S_ISLNK(is_what.st_mode) else "not_regular"}

    def _rows(self, query: str) -> list[dict[str, Any]]:
        cursor = self.db.execute(query)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor]

    def _outbox(self, agent: str, place: str) -> Path:
        outbox = self.store / "agents" / agent / "outbox"
        return outbox / ".pending" if place == "pending" else outbox

    def _clear(self, path: Path) -> None:
        """Take it away, but keep it: then no other file gets its inode, which would look like the same file."""
        if os.path.lexists(path):
            path.rename(self.store.parent / f"{self._name}-gone-{next(self._numbers)}")
