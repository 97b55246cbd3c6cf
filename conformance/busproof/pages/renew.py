"""`python -m busproof.pages.renew`: renew each generated page and each measured figure that is stale, in a checkout.

Pages are cheap, and all are written again. The figures of a corpus take minutes, and are measured again only where the
model or a script has changed since.
"""

from __future__ import annotations

import subprocess
import sys

from busproof import evidence
from busproof.play.explore import corpus
from busproof.systems import SYSTEMS

RENEW = "tox run -e pages"  # named by every test that finds a stale page
ROOT = evidence.FOLDER.parents[1]
PAGES = (
    ("busproof", "schema", "--markdown", "docs/protocol.md"),
    ("reference.page", "docs/refbus.md"),
    ("busproof.pages.worth",),
    ("busproof.pages.history_page",),
)


def main() -> int:
    """Renew all. The exit code of the first program that fails."""
    for command in [*(figures for system in SYSTEMS if _is_stale(system) for figures in _figures(system)), *PAGES]:
        print(" ".join(command), file=sys.stderr)
        code = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, check=False).returncode
        if code:
            return code
    return 0


def _is_stale(system: str) -> bool:
    """Were the figures of its corpus measured with another model, or other scripts?"""
    specification = SYSTEMS[system].model
    try:
        measured = evidence.record("coverage", system)["of model and scripts"]
    except evidence.NoEvidenceError:
        measured = ""
    return specification is not None and measured != corpus.digest(specification)


def _figures(system: str) -> list[tuple[str, ...]]:
    """The index first: a digest of coverage says that both are of today."""
    return [("busproof", "explore", system, "--index"), ("busproof", "explore", system, "--coverage", "--keep")]


if __name__ == "__main__":
    sys.exit(main())
