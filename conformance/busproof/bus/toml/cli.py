"""A command line: a process for each call."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from typing import IO, Any

from busproof.bus.base import Lost, Refused, patient
from busproof.bus.child import kill_family
from busproof.bus.toml import template
from busproof.bus.toml.form import Step

CRASHED = re.compile(  # Python, Go, Rust, Node, Java and C#, PHP, Ruby
    r"Traceback \(most recent call last\)|^panic: |^fatal error: |panicked at |^Node\.js v\d|Unhandled|Uncaught"
    r"|^Exception in thread |:in [`'].+ \([A-Z]\w+(::\w+)*\)$",
    re.M,
)


def call(argv: list[str], step: Step, values: Mapping[str, Any], env: Mapping[str, str], cwd: str) -> Any:
    """Run it and return its output. A status that the step does not name is a refusal; a signal and a time-out are no
    answer.

    The output goes to files: a pipe would not end before the last process that the command leaves behind.
    """
    command = [*template.words(argv, values), *template.words(step.args or [], values)]
    given = None if step.stdin is None else "".join(template.words([step.stdin], values)).encode()
    source = subprocess.DEVNULL if given is None else subprocess.PIPE
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        try:
            process = subprocess.Popen(command, stdin=source, stdout=out, stderr=err, env=dict(env), cwd=cwd)
        except (ValueError, OSError) as error:  # no command line holds a NUL, half a character, or 128 KiB in a word
            code = "BODY_TOO_LARGE" if getattr(error, "errno", 0) == 7 else "INVALID_ARGUMENT"
            raise Refused(code, f"{command[0]}: {error}", definite=True) from error
        try:
            process.communicate(given, timeout=(limit_s := patient(step.timeout_s)))
        except subprocess.TimeoutExpired:
            kill_family(process.pid)
            process.wait()
            raise Lost(f"{shlex.join(command):.300} did not end in {limit_s:g} s: {_read(err)[-300:]}") from None
        text, words = _read(out), _read(err)
    if process.returncode < 0:
        raise Lost(f"{command[0]} was ended by signal {-process.returncode}: {words[-300:]}")
    if process.returncode not in (0, *step.statuses):
        raise refusal(f"{words}{text}".strip() or f"exit status {process.returncode}")
    return answer(text, step)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def refusal(text: str) -> Refused:
    """What a program says when it does not do what is asked: a crash promises nothing."""
    crashed = CRASHED.search(text) is not None
    return Refused("INTERNAL" if crashed else "REFUSED", text, definite=not crashed)


def answer(text: str, step: Step) -> Any:
    """Output as the step's file says; what is no JSON is a text."""
    try:
        match step.parse:
            case "json":
                return json.loads(text)
            case "lines":
                return [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        pass
    return text
