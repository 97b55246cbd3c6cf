"""`python -S handover.py SOCKET PROGRAM…`: be PROGRAM, run by the warm process behind the socket.

A program of its own with few imports, to save the time of a start. See warm.py.
"""

import os
import socket
import sys
from collections.abc import Mapping, Sequence

STREAMS = 3
LENGTH_BYTES = 4
WORDS_BYTES = 64


def asked(
    path: str, program: Sequence[str], folder: str, environment: Mapping[str, str], streams: Sequence[int]
) -> tuple[socket.socket, int]:
    """Have PROGRAM run on these streams; returns the line on which its exit code will come, and its process id.

    Closing the line before then ends the program.
    """
    parts = [folder, str(len(program)), *program, *(f"{name}={value}" for name, value in environment.items())]
    request = os.fsencode("\0".join(parts))
    line = socket.socket(socket.AF_UNIX)
    try:
        line.connect(path)
        socket.send_fds(line, [len(request).to_bytes(LENGTH_BYTES, "big")], streams)
        line.sendall(request)
        words = line.recv(LENGTH_BYTES)
        if len(words) < LENGTH_BYTES:
            raise ConnectionError("the warm process is over")
        return line, int.from_bytes(words, "big")
    except BaseException:
        line.close()
        raise


def exit_code(line: socket.socket) -> int:
    """Wait for it: negative for a signal, as subprocess tells it; 1 if the warm process went before."""
    return int(line.recv(WORDS_BYTES) or b"1")


def hand_over(path: str, program: Sequence[str]) -> None:
    """Be PROGRAM: its streams are ours, and we end as it does. Never returns."""
    line, _ = asked(path, program, os.getcwd(), os.environ, range(STREAMS))
    for fd in range(STREAMS):
        os.close(fd)  # or a reader of our stdout would not see the child's end
    code = exit_code(line)
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    hand_over(sys.argv[1], sys.argv[2:])
