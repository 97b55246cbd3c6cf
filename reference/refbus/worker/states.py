"""Worker states (W15). Everything that decides a transition stands in this table:

    (new) ──► ASSIGNED ──► WORKING ◄──► IN_REVIEW ──► APPROVED ──► COMPLETED
                  │            │             │             │
                  └────────────┴──────┬──────┴─────────────┘
                                      ▼
                              FAILED or CANCELLED

A transition compares and sets: the caller says which state it believes in. The transition and its `state_change`
message are one transaction. `workers/NAME.json` mirrors the state for readers without SQLite; if a crash came between,
the next look at that worker writes it again. A file without a row, left by a program that only keeps files, is
believed.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from refbus.kernel.errors import BusError, InvalidArgument, StateConflict
from refbus.kernel.files import atomic_write, restore_folder
from refbus.kernel.rules import limit as limits
from refbus.kernel.transaction import Transaction
from refbus.worker.log import Log
from refbus.worker.message import Draft, new_ids
from refbus.worker.replies import Transitioned, WorkerState
from refbus.worker.store import Store

_ENDS = {"FAILED", "CANCELLED"}

TRANSITIONS: dict[str | None, set[str]] = {
    None: {"ASSIGNED"},
    "ASSIGNED": {"WORKING"} | _ENDS,
    "WORKING": {"IN_REVIEW"} | _ENDS,
    "IN_REVIEW": {"APPROVED", "WORKING"} | _ENDS,
    "APPROVED": {"COMPLETED"} | _ENDS,
    "COMPLETED": set(),
    "FAILED": set(),
    "CANCELLED": set(),
}


class States:
    """worker_state and transition."""

    def __init__(self, store: Store, log: Log) -> None:
        self._store, self._log = store, log

    def worker_state(self, worker: str) -> WorkerState:
        """The worker's state; None for one that nobody assigned. Errors: INVALID_ARGUMENT."""
        limits.name("worker", worker)
        row = self._store.db.row("SELECT state, updated_at_ms FROM worker_states WHERE worker = ?", (worker,))
        if row is None:
            return {"worker": worker, "state": self._state_in_file(worker)}
        self._mirror(worker, *row)
        return {"worker": worker, "state": row[0]}

    def transition(self, worker: str, to_state: str, from_state: str | None = None) -> Transitioned:
        """Go from the state that the caller believes to the next one. A repeat changes nothing and is no error.

        Errors: INVALID_ARGUMENT, STATE_CONFLICT.
        """
        limits.name("worker", worker)
        _check_state("to_state", to_state)
        if from_state is not None:
            _check_state("from_state", from_state)
        with self._store.transaction() as tx:
            present = self._present_state(tx, worker)
            if to_state not in TRANSITIONS[from_state]:
                raise StateConflict(f"no way leads from {from_state} to {to_state}; {worker} is {present}")
            if present == to_state:
                is_changed = False
            elif present != from_state:
                raise StateConflict(f"{worker} is {present}, not {from_state}")
            else:
                is_changed = True
                tx.execute(
                    "INSERT OR REPLACE INTO worker_states (worker, state, updated_at_ms) VALUES (?, ?, ?)",
                    (worker, to_state, tx.now_ms),
                )
                self.announce(tx, worker, from_state, to_state)
        # It has happened: a mirror that cannot be written now is written by the next look at this worker.
        with contextlib.suppress(BusError):
            if is_changed:
                self._mirror(worker, to_state, tx.now_ms)
            else:
                self.worker_state(worker)
        return {"worker": worker, "state": to_state, "changed": is_changed}

    def _present_state(self, tx: Transaction, worker: str) -> str | None:
        row = tx.row("SELECT state FROM worker_states WHERE worker = ?", (worker,))
        return self._state_in_file(worker) if row is None else row[0]

    def announce(self, tx: Transaction, worker: str, from_state: str | None, to_state: str) -> None:
        """Publish the transition, in its transaction."""
        draft = Draft({"type": "state_change", "payload": {"from": from_state, "to": to_state}}, *new_ids(1))
        self._log.append(tx, worker, draft)

    def _mirror(self, worker: str, state: str, updated_at_ms: int) -> None:
        wanted = json.dumps({"worker": worker, "state": state, "updated_at_ms": updated_at_ms}).encode() + b"\n"
        path = self._file_of(worker)
        try:
            if path.read_bytes() == wanted:
                return
        except OSError:
            pass
        restore_folder(path.parent)
        atomic_write(path, wanted)

    def _state_in_file(self, worker: str) -> str | None:
        try:
            state = json.loads(self._file_of(worker).read_bytes())["state"]
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None
        return state if isinstance(state, str) and state in TRANSITIONS else None

    def _file_of(self, worker: str) -> Path:
        return self._store.workers / f"{worker}.json"


def _check_state(what: str, state: object) -> None:
    if not isinstance(state, str) or state not in TRANSITIONS:
        known = ", ".join(name for name in TRANSITIONS if name)
        raise InvalidArgument(f"{what} must be one of {known}")
