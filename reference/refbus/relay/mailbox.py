"""An agent's side of the folder (3.1, 3.4): it writes whole files into its outbox, and reads those in its inbox.

Nothing here talks to the orchestrator, and none need run: a file waits for one.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import secrets
import time
from pathlib import Path
from typing import TypedDict

from refbus.kernel import msgfile
from refbus.kernel.errors import InvalidArgument, NotFound, PayloadTooLarge, of_os_error
from refbus.kernel.files import FILE_MODE, existing_folder, write_all
from refbus.kernel.msgfile import FormatError, Message
from refbus.kernel.verdict import verdict
from refbus.relay import blob, names, tree
from refbus.relay.view import View

log = logging.getLogger("refbus.relay.mailbox")
FULL_PAUSES_S = (0.1, 0.2, 0.4, 0.8, 1.6)  # before the next attempt on a full disk (6.2)
LOOK_S = 0.1
_DONE = ("completed", "archived")
_OUTCOME = "SELECT status, last_error FROM messages WHERE message_id = ?"
_LOST = """
    SELECT agent_name FROM messages
    WHERE direction = 'inbox' AND last_error = 'inbox_lost' AND file_path LIKE '%-' || ? || '.msg' ORDER BY agent_name
"""


class Sent(TypedDict):
    """The id that the ledger will know the message by."""

    message_id: str


class Outcome(TypedDict):
    """done: it was processed, and each recipient has it; error: the ledger's, or `inbox_lost: ` and whose inbox took
    none. The status is the ledger's; None where no orchestrator has seen the message.
    """

    done: bool
    message_id: str
    status: str | None
    error: str | None


class Received(TypedDict):
    """A message of an inbox, and the file that it is."""

    file: str
    sender: str
    message_id: str
    to: str
    kind: str
    thread: str | None
    priority: int | None
    attachment: str | None
    attachment_path: str | None
    body: str


class Mailbox:
    """One agent's outbox and inbox."""

    def __init__(self, root: Path | str, agent: str) -> None:
        """Make the agent's folders where they are missing. Errors: INVALID_ARGUMENT, IO_ERROR."""
        self.root = existing_folder("root", root)
        if not names.is_agent_name(agent):
            raise InvalidArgument(f"no agent may be called {agent!a:.80}")
        self.agent = agent
        try:
            for part in (tree.AGENTS, tree.ATTACHMENTS):
                (self.root / part).mkdir(0o700, exist_ok=True)
            tree.make_agent(self.root, agent)
        except OSError as error:
            raise of_os_error(error, definite=True) from error

    def send(self, message: Message) -> Sent:
        """Put a message into the outbox, whole and durable. Errors: INVALID_ARGUMENT, PAYLOAD_TOO_LARGE, DISK_FULL.

        `refbus.kernel.msgfile.Message(to="bob", body="…")`, with kind, thread, priority and attachment where wanted.
        """
        try:
            data = msgfile.format(message)
            same = msgfile.parse(data)
        except (FormatError, UnicodeEncodeError) as error:
            raise InvalidArgument(f"this is no message: {error}") from error
        if same != message:
            raise InvalidArgument("a header holds what would end it")
        if len(data) > msgfile.BYTES_MAX:
            raise PayloadTooLarge(f"{len(data)} bytes, more than {msgfile.BYTES_MAX}: attach it")
        name = names.file_name(time.time_ns(), secrets.token_hex(4))
        for pause_s in (*FULL_PAUSES_S, None):
            try:
                self._write(name, data)
                break
            except OSError as error:
                if pause_s is None or error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise of_os_error(error, definite=True) from error
                time.sleep(pause_s)
        return {"message_id": names.message_id(self.agent, name)}

    def outcome(self, message_id: str, wait_s: float = 0.0) -> Outcome:
        """What became of a message that was sent, as far as that is known after wait_s; true if it was processed, and
        each recipient has it.
        """
        deadline = time.monotonic() + wait_s
        status = error = None
        while True:
            with contextlib.suppress(NotFound), View(self.root) as view:
                status, error = view.store.db.row(_OUTCOME, (message_id,)) or (None, None)
                if status in _DONE:  # what an earlier attempt failed of may stand there still
                    lost = [agent for (agent,) in view.store.db.rows(_LOST, (names.uuid(message_id),))]
                    error = f"inbox_lost: {', '.join(lost)}" if lost else None
            if status in (*_DONE, "failed") or time.monotonic() > deadline:
                done = status in _DONE and error is None
                return verdict(Outcome(done=done, message_id=message_id, status=status, error=error))
            time.sleep(LOOK_S)

    def attach(self, data: bytes) -> str:
        """Store large content below its hash; returns the value for a message's `attachment`. Errors: DISK_FULL."""
        return blob.attach(self.root, data)

    def receive(self, *, take: bool = False) -> list[Received]:
        """The messages in the inbox, in the order of delivery; `take` removes them. Files that are no message stay."""
        received: list[Received] = []
        with tree.folder(self.root, tree.AGENTS, self.agent, tree.INBOX) as inbox:
            present = [name for name in os.listdir(inbox) if names.is_file_name(name)]
            for name in sorted(present, key=lambda name: (names.time_ns(name), name)):
                _, data, _ = tree.read(name, inbox, tree.look(name, inbox).st_size)
                try:
                    sender, id_, message = msgfile.parse_copy(data)
                except FormatError as error:
                    log.warning("unreadable", extra={"file": name, "reason": str(error)})
                    continue
                received.append(
                    {
                        "file": name,
                        "sender": sender,
                        "message_id": id_,
                        "to": message.to,
                        "kind": message.kind,
                        "thread": message.thread,
                        "priority": message.priority,
                        "attachment": message.attachment,
                        "attachment_path": message.attachment and str(blob.path_of(self.root, message.attachment)),
                        "body": message.body,
                    }
                )
                if take:
                    os.unlink(name, dir_fd=inbox)
        return received

    def _write(self, name: str, data: bytes) -> None:
        """Temporary file in .pending, fsync, rename, fsync of the folder."""
        with (
            tree.folder(self.root, tree.AGENTS, self.agent, tree.OUTBOX) as outbox,
            tree.folder(self.root, tree.AGENTS, self.agent, tree.OUTBOX, tree.PENDING) as pending,
        ):
            try:
                file = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE, dir_fd=pending)
                try:
                    write_all(file, data)
                    os.fsync(file)
                finally:
                    os.close(file)
                os.rename(name, name, src_dir_fd=pending, dst_dir_fd=outbox)
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=pending)
                raise
            os.fsync(outbox)
