"""The filter: which system calls of a bus stop and wait for a verdict.

A seccomp filter is a program of the kernel's small virtual machine. It sees the call's number and its arguments as
numbers, never the memory that they point at, so it stops every call that may change a file; the supervisor then looks
at the path and lets strangers' files through. Calls that only read, lock or send a signal stop if a nemesis asks for
them (READS, LOCKS, SIGNALS).

`io_uring` and the kernel's other queue (`io_setup`) would pass by any filter, so they are answered ENOSYS: programs
fall back to ordinary calls. Stores through a memory mapping (SQLite's `-shm` file) are no calls and are not seen;
neither are the calls of a 32-bit program. Whether all was seen is found out afterwards (`tape.image`).
"""

from __future__ import annotations

import errno
import os
import platform
import struct
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Machine:
    """The numbers that differ between processors."""

    audit_arch: int
    seccomp: int  # number of the system call `seccomp`
    numbers: dict[str, int]  # of the calls that may stop


_X86_64 = Machine(
    0xC000003E,
    317,
    {
        "write": 1,
        "pwrite64": 18,
        "writev": 20,
        "pwritev": 296,
        "pwritev2": 328,
        "sendfile": 40,
        "copy_file_range": 326,
        "fsync": 74,
        "fdatasync": 75,
        "sync_file_range": 277,
        "fallocate": 285,
        "truncate": 76,
        "ftruncate": 77,
        "rename": 82,
        "renameat": 264,
        "renameat2": 316,
        "link": 86,
        "linkat": 265,
        "symlink": 88,
        "symlinkat": 266,
        "unlink": 87,
        "unlinkat": 263,
        "mknod": 133,
        "mknodat": 259,
        "mkdir": 83,
        "mkdirat": 258,
        "rmdir": 84,
        "open": 2,
        "openat": 257,
        "openat2": 437,
        "creat": 85,
        "splice": 275,
        "sync": 162,
        "syncfs": 306,
        "io_uring_setup": 425,
        "io_setup": 206,
        "fcntl": 72,
        "flock": 73,
        "read": 0,
        "pread64": 17,
        "readv": 19,
        "preadv": 295,
        "munmap": 11,
        "kill": 62,
    },
)
# Written from the kernel's tables; not tried on such a machine.
_AARCH64 = Machine(
    0xC00000B7,
    277,
    {
        "write": 64,
        "pwrite64": 68,
        "writev": 66,
        "pwritev": 70,
        "pwritev2": 287,
        "sendfile": 71,
        "copy_file_range": 285,
        "fsync": 82,
        "fdatasync": 83,
        "sync_file_range": 84,
        "fallocate": 47,
        "truncate": 45,
        "ftruncate": 46,
        "renameat": 38,
        "renameat2": 276,
        "linkat": 37,
        "symlinkat": 36,
        "unlinkat": 35,
        "mknodat": 33,
        "mkdirat": 34,
        "openat": 56,
        "openat2": 437,
        "splice": 76,
        "sync": 81,
        "syncfs": 267,
        "io_uring_setup": 425,
        "io_setup": 0,
        "fcntl": 25,
        "flock": 32,
        "read": 63,
        "pread64": 67,
        "readv": 65,
        "preadv": 69,
        "munmap": 215,
        "kill": 129,
    },
)
MACHINES = {"x86_64": _X86_64, "aarch64": _AARCH64}

LOCKS = ("fcntl", "flock")
READS = ("read", "pread64", "readv", "preadv")
UNMAPS = ("munmap",)
SIGNALS = ("kill",)
_QUEUES = ("io_uring_setup", "io_setup")
_LOCK_COMMANDS = (6, 7, 37, 38)  # F_SETLK, F_SETLKW, and the same of an open file

# classic BPF: load a word, jump if equal, jump if any bit is set, return
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _NOTIFY, _ERRNO = 0x7FFF0000, 0x7FC00000, 0x00050000
_AT_NUMBER, _AT_ARCH, _AT_ARGS = 0, 4, 16  # offsets in struct seccomp_data
_CREATES = os.O_CREAT | os.O_TRUNC
_FLAGS_ARGUMENT = {"open": 1, "openat": 2}

Instruction = tuple[int, int, int, int]  # code, jump if true, jump if false, operand


def machine() -> Machine | None:
    """This processor's tables, or None where there are none."""
    return MACHINES.get(platform.machine())


def program(of: Machine, also: Iterable[str] = ()) -> bytes:
    """The filter, assembled: it stops every change, and the calls that `also` names. A 32-bit program's calls pass."""
    wanted = {*also}
    code: list[Instruction] = [
        (_LOAD, 0, 0, _AT_ARCH),
        (_EQUAL, 1, 0, of.audit_arch),
        (_RETURN, 0, 0, _ALLOW),
        (_LOAD, 0, 0, _AT_NUMBER),
    ]
    for name, number in of.numbers.items():
        if name in wanted or name not in (*LOCKS, *READS, *UNMAPS, *SIGNALS):
            block = _stop(name, reads=not wanted.isdisjoint(READS))
            code += [(_EQUAL, 0, len(block), number), *block]
    code.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in code)


def _stop(name: str, *, reads: bool) -> list[Instruction]:
    """The instructions for a call of this name."""
    if name in _QUEUES:
        return [(_RETURN, 0, 0, _ERRNO | errno.ENOSYS)]
    if name in _FLAGS_ARGUMENT and not reads:  # only an open that may create or cut a file
        at_flags = _AT_ARGS + 8 * _FLAGS_ARGUMENT[name]
        return [(_LOAD, 0, 0, at_flags), (_ANY_BIT, 0, 1, _CREATES), (_RETURN, 0, 0, _NOTIFY), (_RETURN, 0, 0, _ALLOW)]
    if name == "fcntl":  # only commands that take or give back a lock
        tests = [(_EQUAL, 0, 1, command) for command in _LOCK_COMMANDS]
        code: list[Instruction] = [(_LOAD, 0, 0, _AT_ARGS + 8)]
        for test in tests:
            code += [test, (_RETURN, 0, 0, _NOTIFY)]
        return [*code, (_RETURN, 0, 0, _ALLOW)]
    return [(_RETURN, 0, 0, _NOTIFY)]
