"""What only Linux, or only a POSIX system, has is not imported by what needs none of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from busproof import cli

# What macOS lacks, and what Windows lacks besides.
DARWIN = """\
import os, select, signal, socket, sys, sysconfig
os.environ["_PYTHON_SYSCONFIGDATA_NAME"] = sysconfig._get_sysconfigdata_name()
LACKING = {
    os: "pidfd_open memfd_create eventfd sched_getaffinity sched_setaffinity posix_fadvise posix_fallocate pipe2"
    " fdatasync waitid splice copy_file_range getrandom O_TMPFILE O_DIRECT O_PATH setns unshare",
    select: "epoll",
    signal: "sigtimedwait sigwaitinfo",
    socket: "AF_NETLINK SO_PEERCRED",
}
MODULES = ["inotify_simple"]
sys.platform = "darwin"
"""
WINDOWS = """\
import asyncio, multiprocessing.pool, multiprocessing.popen_fork, shutil, subprocess, tempfile  # they need none there
LACKING[os] += (
    " fork forkpty register_at_fork killpg getpgid setpgid getuid geteuid getgid setsid mkfifo pread pwrite sysconf"
    " statvfs wait wait4 fchmod fchown chown O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_SYNC WNOHANG nice getloadavg"
)
LACKING[select] += " poll"
LACKING[signal] += " SIGKILL SIGHUP SIGALRM SIGUSR1 SIGUSR2 SIGCHLD SIGPIPE SIGSTOP SIGCONT setitimer alarm"
LACKING[socket] += " AF_UNIX socketpair send_fds recv_fds"
MODULES += ["fcntl", "resource", "termios", "pwd", "grp", "tty", "pty", "syslog"]
sys.platform = "linux"  # the standard library would import its parts for Windows, which are not here
"""
HIDE = """\
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name in MODULES:
            raise ModuleNotFoundError(name, name=name)
for module, names in LACKING.items():
    for name in names.split():
        vars(module).pop(name, None)
for name in MODULES:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hide())
"""


def on(system: str, folder: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    """`busproof` where all of this is hidden, from it and from each Python that it starts."""
    hidden = DARWIN + (WINDOWS if system == "windows" else "") + HIDE
    (folder / "sitecustomize.py").write_text(hidden, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "busproof", *argv], cwd=folder, env=env, capture_output=True, text=True
    )


def test_check_explore_and_audit_run_where_macos_has_less(tmp_path: Path) -> None:
    """The reference's mailbox, too; chaos is another matter."""
    a_history(tmp_path)
    a_row = ["check", "mailbox", "--only", "mailbox.cursor.04", "-j", "1", "--out", str(tmp_path)]
    a_script = ["explore", "mailbox", "--script", "00003-v7"]
    for argv in (a_row, a_script, AUDIT):
        done = on("macos", tmp_path, *argv)
        assert done.returncode == 0, f"{argv}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    done = on("macos", tmp_path, "chaos", "worker")
    assert (done.returncode, "chaos needs Linux" in done.stderr) == (2, True)


def test_audit_runs_where_windows_has_less_and_what_plays_a_bus_says_what_it_needs(tmp_path: Path) -> None:
    a_history(tmp_path)
    for argv in (AUDIT, ["explain", "worker.log.01"]):
        done = on("windows", tmp_path, *argv)
        assert done.returncode == 0, f"{argv}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    done = on("windows", tmp_path, "check", "mailbox")
    assert (done.returncode, "check needs a POSIX system" in done.stderr) == (2, True)


AUDIT = ["audit", "--engine", "python", "history.jsonl"]


def a_history(folder: Path) -> None:
    """Of the example logger."""
    assert cli.main(["init", "worker", "logger-python", str(folder)]) == 0
    subprocess.run([sys.executable, "logger.py"], cwd=folder, check=True)


def test_chaos_says_at_once_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cli.main(["chaos", "worker"]) == 2
    assert capsys.readouterr().err == (
        "busproof: chaos needs Linux 5.5 or later, and this is darwin: run it in a container\n"
    )
