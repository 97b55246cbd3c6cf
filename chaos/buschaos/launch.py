"""`python -m buschaos.launch FD -- CMD…`: become CMD, with every file-changing system call under supervision.

FD is one end of a socket pair. The supervisor sends the filter's program; this process installs it, sends back the
file descriptor on which the kernel will announce stopped calls, and then executes CMD. The filter survives exec and
is inherited by every thread and child, so any program in any language is supervised.

It is a program of its own, because `preexec_fn` in a threaded parent may deadlock. It needs no privilege: NO_NEW_PRIVS
lets everybody install a filter. Imports are few, since every kill pays for this start.
"""

import ctypes
import os
import platform
import socket
import sys

PR_SET_NO_NEW_PRIVS = 38
SECCOMP_SET_MODE_FILTER = 1
NEW_LISTENER = 1 << 3
# Once the supervisor has received a call, only a fatal signal interrupts it (Linux 5.19). Without it, a signal would
# make the call start over and be counted twice.
WAIT_KILLABLE_RECV = 1 << 5
CANNOT = 126  # exit status; the reason is on stderr
_SYS_SECCOMP = {"x86_64": 317, "aarch64": 277}


def main(argv: list[str]) -> None:
    """Never returns."""
    fd, dashes, *command = argv
    if dashes != "--" or not command:
        raise SystemExit("usage: python -m buschaos.launch FD -- CMD…")
    with socket.socket(fileno=int(fd)) as supervisor:
        listener = install(supervisor.recv(65536))
        socket.send_fds(supervisor, [b"x"], [listener])
        os.close(listener)
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"cannot execute {command[0]}: {error}\n")
        os._exit(CANNOT)


def install(program: bytes) -> int:
    """Install the filter for this thread and all that come from it; return the listener."""
    libc = ctypes.CDLL(None, use_errno=True)

    class Program(ctypes.Structure):  # struct sock_fprog
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_char_p))

    described = Program(len(program) // 8, program)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        _give_up("NO_NEW_PRIVS")
    for flags in (NEW_LISTENER | WAIT_KILLABLE_RECV, NEW_LISTENER):
        listener = libc.syscall(
            _SYS_SECCOMP[platform.machine()], SECCOMP_SET_MODE_FILTER, flags, ctypes.byref(described)
        )
        if listener >= 0:
            return int(listener)
    return _give_up("seccomp user notification")


def _give_up(what: str) -> int:
    sys.stderr.write(f"{what} is refused here: {os.strerror(ctypes.get_errno())}\n")
    sys.stderr.flush()
    os._exit(CANNOT)


if __name__ == "__main__":
    main(sys.argv[1:])
