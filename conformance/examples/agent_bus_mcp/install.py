"""Put agent-bus-mcp 0.5.1, the server whose reference is seed 004, into an environment of its own.

    python conformance/examples/agent_bus_mcp/install.py FOLDER      prints the --bus argument; needs uv

It wants Python 3.12, and its wheel glibc 2.38. On an older glibc a shim is compiled and preloaded. Where it cannot be
had, the exit code is 1 and stderr says why.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

PACKAGE = "agent-bus-mcp==0.5.1"
PYTHON_LEAST = (3, 12)
SHIM = Path(__file__).with_name("shim.c")


class CouldNotRun(Exception):
    """The server cannot be had here."""


def bus(folder: Path) -> str:
    """Install it, and return its --bus argument."""
    venv = folder / "venv"
    _done("uv", "venv", "--quiet", "--clear", "--python", _python(), str(venv))
    _done("uv", "pip", "install", "--quiet", "--python", str(venv), PACKAGE)
    server = str(venv / "bin" / "agent-bus")
    why = _refusal(server)
    if "__isoc23_" in why:
        preload = f"LD_PRELOAD={_shim(folder)}"
        why = _refusal("env", preload, server)
        if not why:
            return "mcp:" + shlex.join(["env", preload, server])
    if why:
        raise CouldNotRun(f"{PACKAGE} is installed and does not start: {why.splitlines()[-1]}")
    return "mcp:" + shlex.join([server])


def _python() -> str:
    """The first Python that is new enough. pyenv's shims are tried too, and often do not run."""
    for python in _candidates():
        code = f"import sys; sys.exit(sys.version_info < {PYTHON_LEAST})"
        if subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0:
            return python
    raise CouldNotRun("there is no Python 3.12 or later")


def _candidates() -> Iterator[str]:
    yield sys.executable
    for minor in range(PYTHON_LEAST[1], 20):
        yield from filter(None, [shutil.which(f"python3.{minor}")])
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser()
    yield from map(str, sorted(pyenv.glob("versions/3.*/bin/python")))


def _shim(folder: Path) -> Path:
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if compiler is None:
        raise CouldNotRun("glibc is older than 2.38, and there is no C compiler for the shim")
    library = folder / "shim.so"
    _done(compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SHIM))
    return library.resolve()


def _refusal(*command: str) -> str:
    """Why it does not start; empty if it does."""
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=120, check=False)
    return "" if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"


def _done(*command: str) -> None:
    try:
        subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    except subprocess.CalledProcessError as error:
        raise CouldNotRun(f"{shlex.join(command)}: {error.stderr.strip()[-500:]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CouldNotRun(f"{shlex.join(command)}: {error}") from error


if __name__ == "__main__":
    try:
        print(bus(Path(sys.argv[1]).resolve()))
    except CouldNotRun as reason:
        sys.exit(f"could-not-run: {reason}")
