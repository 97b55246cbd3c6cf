"""`busproof init`: an adapter to fill in, which already answers hello.

Python and Node have one template per system. Other languages have one template, into which the system's own methods are
written as they stand in its contract. `any` writes a session to hold an adapter against, in any language.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from pydantic import BaseModel

from busproof.bus.doors import SCHEMES
from busproof.contract import CONTRACTS
from busproof.contract.common import SESSION_METHODS


@dataclass(frozen=True)
class Language:
    """The files to write, and how they are started."""

    files: tuple[str, ...]  # of the adapter; the first is to be filled in
    run: str  # with {folder}
    build: str = ""
    method: str = ""  # to be written, as a comment of the template; none: one template per system


LANGUAGES = {
    "python": Language(("adapter.py",), "python {folder}/adapter.py"),
    "node": Language(("adapter.mjs",), "node {folder}/adapter.mjs"),
    "perl": Language(
        ("adapter.pl",),
        "perl {folder}/adapter.pl",
        method="    # {name} => sub {{ my ($p) = @_; return {{ … }} }},    # {takes} → {gives}",
    ),
    "go": Language(
        ("adapter.go",),
        "{folder}/adapter",
        "go build -o {folder}/adapter {folder}/adapter.go",
        '\t// "{name}": func(p params) (any, error) {{ return m{{…}}, nil }}, // {takes} → {gives}',
    ),
    "rust": Language(
        ("src/main.rs", "Cargo.toml"),
        "{folder}/target/release/adapter",
        "cargo build --release --manifest-path {folder}/Cargo.toml",
        '            // "{name}" => Ok(json!({{…}})), // {takes} → {gives}',
    ),
}
ANY = "any"
_AGENTS = {"agent-shell": "agent.sh", "agent-python": "agent.py"}  # of relay, whose agents need no bus to talk to
_LOGGERS = {"logger-python": "logger.py", "logger-node": "logger.mjs", "logger-perl": "logger.pl"}
CHOICES = (*LANGUAGES, ANY, *_AGENTS, *_LOGGERS)


def write(system: str, language: str, folder: Path) -> int:
    """Write the template and say what to do next. Refuses to overwrite."""
    if language in _AGENTS:
        return _write_agent(system, _AGENTS[language], folder)
    if language in _LOGGERS:
        return _write_logger(_LOGGERS[language], folder)
    scheme = CONTRACTS[system].scheme
    if scheme != "exec":
        print(f"No adapter is needed: {SCHEMES[scheme].no_adapter} is judged as it is, by its command:")
        print(f"  busproof check {system} --bus '{scheme}:CMD…'")
        return 0
    if language not in CHOICES:
        print(f"busproof: no template is in {language!a}; there are {', '.join(CHOICES)}", file=sys.stderr)
        print(f"In another language: busproof init {system} {ANY} {folder}, every call by example.", file=sys.stderr)
        return 2
    if language == ANY:
        return _write_session(system, folder)
    known = LANGUAGES[language]
    if not written({folder / name: _text(system, known, name) for name in known.files}):
        return 2
    path = folder / known.files[0]
    print(f"wrote {path}: fill in the methods marked TODO, and declare in hello only what your bus does.")
    _print_next(system, known.run.format(folder=folder), known.build.format(folder=folder))
    return 0


def _print_next(system: str, command: str, build: str = "") -> None:
    print("Then:")
    if build:
        print(f"  {build}")
    print(f"  busproof doctor --system {system} --bus 'exec:{command}'")
    print(f"  busproof check {system} --bus 'exec:{command}'")


def _write_session(system: str, folder: Path) -> int:
    """A bus's requests and answers, line by line."""
    from busproof.pages import wire_example

    path = folder / "wire.txt"
    if not written({path: "".join(f"{line}\n" for line in wire_example.of(system))}):
        return 2
    print(
        f"wrote {path}: a session as it goes over the wire. → is what your program reads on stdin, ← what it writes to"
    )
    print(f"stdout, each without the arrow; all fields: busproof schema {system} --page")
    _print_next(system, "CMD…")
    return 0


def _write_agent(system: str, name: str, folder: Path) -> int:
    """A program that only writes and reads files."""
    if system != "relay":
        print(f"busproof: agents of {system} talk to their bus; only those of relay write files", file=sys.stderr)
        return 2
    path = folder / name
    if not written({path: _templates(system).joinpath(system, f"{name}.txt").read_text(encoding="utf-8")}):
        return 2
    path.chmod(0o755)
    print(f"wrote {path}: an agent to copy. Let it send something, and have its files judged as an orchestrator would:")
    print("  busproof doctor --bus files:DIR")
    return 0


def _write_logger(name: str, folder: Path) -> int:
    """A program that writes a history."""
    path = folder / name
    text = resources.files("busproof").joinpath("templates", f"{name}.txt").read_text(encoding="utf-8")
    if not written({path: text}):
        return 2
    print(f"wrote {path}: run it, and have what it writes audited. docs/history.md tells what each line must hold:")
    print("  busproof audit --validate history.jsonl")
    print("  busproof audit history.jsonl")
    return 0


def _text(system: str, language: Language, name: str) -> str:
    if not language.method:
        return _templates(system).joinpath(system, f"{name}.txt").read_text(encoding="utf-8")
    contract = CONTRACTS[system]
    text = resources.files("busproof").joinpath("templates", f"{Path(name).name}.txt").read_text(encoding="utf-8")
    core = (
        method
        for method in contract.methods.values()
        if method.noun in contract.profiles["core"] and method.feature is None and method.name not in SESSION_METHODS
    )
    methods = [language.method.format(name=m.name, takes=_fields(m.params), gives=_fields(m.reply)) for m in core]
    for place, value in {
        "@SYSTEM@": system,
        "@NOUNS@": ", ".join(f'"{noun}"' for noun in contract.profiles["core"]),
        "@FEATURES@": ", ".join(f'"{feature}"' for feature in list(contract.features)[:3]),
        "@METHODS@": "\n".join(methods),
    }.items():
        text = text.replace(place, value)
    return text


def _fields(model: type[BaseModel]) -> str:
    return ", ".join(model.model_fields) or "nothing"


def _templates(system: str) -> Traversable:
    return resources.files(CONTRACTS[system].package).joinpath("templates")


def written(texts: dict[Path, str]) -> bool:
    """Write all of them, or none if one of them exists already."""
    for path in texts:
        if path.exists():
            print(f"busproof: {path} exists already; nothing was written", file=sys.stderr)
            return False
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return True
