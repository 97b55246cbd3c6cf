"""What usually mends a kind of problem: the first advice whose words fit the problem. It is no more than a guess."""

from __future__ import annotations

import re

from buschaos.points import PID_TAKEN
from buschaos.state import Problem

_BY_ACT: dict[str, tuple[tuple[str, str], ...]] = {
    "chaos.power_loss": (
        (r"^blob|missing: message|is missing, and was", "sync the blob, then its folder, and only then write its row"),
        (r"SQLITE_", "keep SQLite's journal on the disk (WAL, DELETE), and synchronous at NORMAL or FULL"),
        (r"cannot be used|integrity|torn", "write to a new file, sync it, rename it over the old one, sync the folder"),
        (r"half of one is left", "make all changes of a call in one transaction, and sync in the order of the writes"),
        (r"", "sync the file before the answer, and its folder after each new name; or declare a lower durability"),
    ),
    "chaos.disk_full": (
        (r"ended the process|ended its process", "catch the error of every write, roll back, and answer DISK_FULL"),
        (r"certainly not done", "roll back before the refusal, or say definite: false when that cannot be known"),
        (r"was answered|\bfalse\b", "look at the result of each write and sync, and answer only after the last"),
        (r"is refused with", "map ENOSPC and SQLITE_FULL to DISK_FULL, definite once the transaction is rolled back"),
        (r"", "after an error, roll back and close what it left half open: the next call must find a clean start"),
    ),
    "chaos.holds": (
        (
            r"(count|processed|pending|error)\w* \d+ became",
            "count in the statement that writes (n = n + 1), not before it",
        ),
        (r"took over|lease|claim|late", "ask for the token in the statement that writes, not in a look before it"),
        (r"", "look and write under one lock: BEGIN IMMEDIATE, one conditional UPDATE, or a flock held over both"),
    ),
    "chaos.waits": (
        (r"", "look once more after the watch is set and before sleeping, from the place of the last look"),
    ),
    "chaos.damage": ((r"", "before each write, see that the open file is still the one at its path"),),
    "chaos.gone_callers": ((r"", "move the cursor with the answer, and give back what a cancelled call has taken"),),
}
_BY_WORDS = (
    (r"^blob", "write the blob to a temporary file, sync it, rename it to its name, and only then write its row"),
    (r"^export|^presence: torn", "write a new file and rename it over the old one, or cut off a torn tail"),
    (r"again|not be resolved|doubled", "let the id of a call decide: the same call again finds its result"),
    (r"lost|was answered, and is not whole", "answer after the commit, never before it"),
    (r"half done|torn|changed|integrity", "make all changes of a call in one transaction, or by one rename"),
    (r"cannot work on|nobody can", "let a process that comes clear up: a lock, a journal or a half file of a dead one"),
    (r"exclusive|lease|holder", "ask for the token in the statement that writes, not in a look before it"),
)
_PID_TAKEN = "hold a lock that the system frees (flock), or keep the start of the process beside its pid"


def usually(problem: Problem, act: str) -> str:
    """The advice; empty where the words tell nothing."""
    if problem.point.endswith(PID_TAKEN):
        return _PID_TAKEN
    words = f"{problem.noun}: {problem.why}"
    advice = (*_BY_ACT.get(act, ()), *_BY_WORDS)
    return next((mends for pattern, mends in advice if re.search(pattern, words)), "")
