"""`busproof init ci` and `busproof init tox`: jobs that judge a bus, to be kept beside it.

All services run one script, `busproof.sh`, which is also the plain form; what a service adds is a file that calls it.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from busproof.contract import CONTRACTS
from busproof.pages.init import written

INSTALL = "busproof[chaos,audit]"
_SCRIPT = ("busproof.sh", "busproof.sh.txt")
# service → each file that is written, and its template
_FILES = {
    "github": (_SCRIPT, (".github/workflows/busproof.yml", "github.yml.txt")),
    "gitlab": (_SCRIPT, ("busproof.gitlab-ci.yml", "gitlab.yml.txt")),
    "shell": (_SCRIPT,),
    "tox": (("tox.ini", "tox.ini.txt"),),
}
SERVICES = tuple(name for name in _FILES if name != "tox")


def main(argv: Sequence[str]) -> int:
    """Write them into a folder, and say what to do next. Refuses to overwrite."""
    args = _parser().parse_args(argv)
    service = "tox" if args.what == "tox" else args.service
    texts = {args.folder / name: _text(template, args) for name, template in _FILES[service]}
    if not written(texts):
        return 2
    print(*(f"wrote {path}" for path in texts), sep="\n")
    print("Try it here before it is pushed:")
    print("  tox" if service == "tox" else "  sh busproof.sh")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="busproof init", description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("ci", "tox"))
    parser.add_argument("system", choices=sorted(CONTRACTS), metavar="SYSTEM", help="%(choices)s")
    parser.add_argument("service", nargs="?", choices=SERVICES, default="github", help="of ci (default: %(default)s)")
    parser.add_argument("--bus", required=True, metavar="SPEC", help="the bus, as `busproof check` takes it")
    parser.add_argument("--install", default=INSTALL, metavar="REQUIREMENT", help="for pip (default: %(default)s)")
    parser.add_argument("--folder", type=Path, default=Path(), metavar="DIR", help="default: this one")
    return parser


def _text(template: str, args: argparse.Namespace) -> str:
    text = resources.files("busproof").joinpath("templates", "ci", template).read_text(encoding="utf-8")
    is_tox = template.startswith("tox")
    # tox replaces what stands in braces; and what it installs stands on a line without quotes.
    bus = shlex.quote(args.bus).replace("{", r"\{").replace("}", r"\}") if is_tox else shlex.quote(args.bus)
    install = args.install if is_tox else shlex.quote(args.install)
    for place, value in {"@SYSTEM@": args.system, "@BUS@": bus, "@INSTALL@": install}.items():
        text = text.replace(place, value)
    return text
