"""The gate between an orchestrator and the program that it spawns; run as a script, it imports nothing of ours.

    gate.py TICKET STATUS_FD PROGRAM ARGUMENT …

It waits on stdin until the orchestrator has written down who it is. If the orchestrator dies first, stdin ends, and so
does the gate: no process lives that the ledger does not know. Then it removes the ticket, a file: if it is gone, the
program has run; if it is there, it never will. At last the gate becomes the program, or says on STATUS_FD why not.
"""

from __future__ import annotations

import os
import sys


def main(ticket: str, status_fd: int, argv: list[str]) -> None:
    """Wait, take the ticket, become the program."""
    if os.read(0, 1) != b"g":
        return
    try:
        os.unlink(ticket)
    except FileNotFoundError:
        return  # an orchestrator that came after ours has decided otherwise
    os.set_inheritable(status_fd, False)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    try:
        os.execv(argv[0], argv)
    except OSError as error:
        os.write(status_fd, str(error).encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:])
    sys.exit(127)
