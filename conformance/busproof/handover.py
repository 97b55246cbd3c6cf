"""`python -S handover.py SOCKET PROGRAM…`: be PROGRAM, run by the warm process behind the socket.

A program of its own with few imports: what it saves is the time of a start. See warm.py.
"""

import os
import socket
import sys

STREAMS = 3
LENGTH_BYTES = 4


def hand_over(path: str, program: list[str]) -> None:
    """Be PROGRAM: its streams are ours, and we end as it does. Never returns."""
    told = [os.getcwd(), str(len(program)), *program, *(f"{name}={value}" for name, value in os.environ.items())]
    request = os.fsencode("\0".join(told))
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(path)
        socket.send_fds(line, [len(request).to_bytes(LENGTH_BYTES, "big")], list(range(STREAMS)))
        line.sendall(request)
        for fd in range(STREAMS):
            os.close(fd)  # or a reader of our stdout would not see the child's end
        said = line.recv(8)
    code = int(said or b"1")
    if code < 0:
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    hand_over(sys.argv[1], sys.argv[2:])
