"""A command line: a process for each call."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from typing import Any

from busproof.bus.base import Lost, Refused
from busproof.bus.child import kill_family
from busproof.bus.toml import template
from busproof.bus.toml.form import Step

CRASHED = re.compile(r"Traceback \(most recent call last\)|^panic: |Unhandled|UnhandledPromiseRejection", re.M)


def call(argv: list[str], step: Step, values: Mapping[str, Any], env: Mapping[str, str], cwd: str) -> Any:
    """Run it and return its output. A status other than 0 is a refusal; a signal and a time-out are no answer."""
    command = [*template.words(argv, values), *template.words(step.args or [], values)]
    given = None if step.stdin is None else template.fill(step.stdin, values).encode()
    source = subprocess.DEVNULL if given is None else subprocess.PIPE
    try:
        process = subprocess.Popen(
            command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(env), cwd=cwd
        )
    except (ValueError, OSError) as error:  # no command line holds a NUL, half a character, or 128 KiB in a word
        code = "BODY_TOO_LARGE" if getattr(error, "errno", 0) == 7 else "INVALID_ARGUMENT"
        raise Refused(code, f"{command[0]}: {error}", definite=True) from error
    try:
        out, err = process.communicate(given, timeout=step.timeout_s)
    except subprocess.TimeoutExpired:
        kill_family(process.pid)
        process.communicate()
        raise Lost(f"{command[0]} did not end in {step.timeout_s:g} s") from None
    text, words = out.decode(errors="replace"), err.decode(errors="replace")
    if process.returncode < 0:
        raise Lost(f"{command[0]} was ended by signal {-process.returncode}: {words[-300:]}")
    if process.returncode:
        raise refusal(f"{words}{text}".strip()[-600:] or f"exit status {process.returncode}")
    return answer(text, step)


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
