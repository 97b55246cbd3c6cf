"""`python conformance/measure/page.py`: docs/mutation/README.md, from the results and the reasons beside it.

reasons.toml has a line for each mutant that was not killed: `equivalent` says why no bus that differs so breaks any
sentence, `open` says what is not found yet. A reason without a survivor is stale and fails.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "busproof-out" / "mutation"
GROUPS = ("worker", "comms", "topics", "timeline", "relay", "kernel")
KEPT_SINCE = 30  # seeds from this one on keep every line of a mutant
FIRST = 10  # the seed of the first draw
ALIVE = ("survived", "left")  # left: only the corpus was asked
BY_CHAOS = "by chaos"
CAUGHT = ("killed", "broke down", "dialect")

HEAD = """# How many faults that nobody chose does `check` find?

Written by `python conformance/measure/page.py` from the results beside it.

[cosmic-ray](https://cosmic-ray.readthedocs.io) mutates the reference, with operators of ours for SQL, which a tool
for Python sees as text. A *site* is a place and a family of operators; one mutant is drawn of each, so that one `+`
does not count eleven times. A bus with one mutant is judged by `busproof check`, as a stranger's would be: the corpus
first, then everything else. Play it again, or further: `tox run -e mutation`; a mutant that has a result is not judged
again.

*By the corpus* counts the mutants that died before any scenario was asked. *Broke down* is a mutant that gave no
answer, or INTERNAL: easy to find, so the score is told without those, too (*of others*). A *dialect* broke only rows
where the specification is silent: it is reported, and the verdict stays VALID. Equivalent mutants are argued one by one
below. An *open* mutant is not caught: by the corpus alone where its line says `left`, because the rest of `check` takes
long and was not asked yet; so these scores are lower bounds. Faults that `check` does not play (errors of a disk,
crashes, a NATS server that ends) can be put to `chaos`, which takes minutes each: *by chaos* counts the mutants that it
found among those it was asked about. The *score* is that of `check` alone.

Each draw has a seed, and no site is drawn twice. The kit is mended after the survivors of a draw, which are then judged
again. So only *at first* is unbiased: the score of a draw when it was asked for the first time (of seed 30 on that is
kept). Timeline's modules for JetStream are judged on NATS too, and the search of topics also with a model for searches
by meaning.
"""


def results(group: str, *, at_first: bool = False) -> list[dict[str, Any]]:
    """Mutants of a group; the last line of one counts, or the first that asked more than the corpus."""
    path = FOLDER / f"{group}.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []
    if at_first:
        lines.reverse()
        lines.sort(key=lambda line: line["outcome"] != "left")
    return list({line["mutant"]: line for line in lines}.values())


def reasons() -> dict[str, dict[str, str]]:
    """Mutant → why it was not killed."""
    path = FOLDER / "reasons.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def wrong() -> list[str]:
    """Survivors without a reason, and reasons without a survivor."""
    left = {line["mutant"] for group in GROUPS for line in results(group) if line["outcome"] in ALIVE}
    told = reasons()
    return sorted([f"no reason: {one}" for one in left - told.keys()] + [f"stale: {one}" for one in told.keys() - left])


def seeds(group: str) -> list[int]:
    """The draws that were judged."""
    return sorted({line.get("seed", FIRST) for line in results(group)})


def figures(
    group: str, *, is_sql: bool | None = None, seed: int | None = None, at_first: bool = False
) -> dict[str, int]:
    """The fates of the mutants of a group, or of a draw."""
    told = reasons()
    lines = [
        one
        for one in results(group, at_first=at_first)
        if is_sql is None or one["operator"].startswith("Sql") is is_sql
    ]
    lines = [one for one in lines if seed in (None, one.get("seed", FIRST))]
    count = Counter(line["outcome"] for line in lines)
    equivalent = sum("equivalent" in told.get(one["mutant"], {}) for one in lines if one["outcome"] in ALIVE)
    caught = [line for line in lines if line["outcome"] in CAUGHT]
    return {
        "judged": len(lines),
        "caught": len(caught),
        "corpus": sum(" corpus " in one["by"] or one["by"].endswith("start") for one in caught),
        "broke": count["broke down"],
        "dialect": count["dialect"],
        "equivalent": equivalent,
        "chaos": count[BY_CHAOS],
        "open": count["survived"] + count["left"] - equivalent,
    }


def text() -> str:
    """The page."""
    lines = [HEAD, *_table(), ""]
    for group in GROUPS:
        lines += _survivors(group)
    return "\n".join(lines).rstrip() + "\n"


def _table() -> list[str]:
    head = "mutants of | judged | caught | by the corpus | broke down | dialect | equivalent | by chaos | open"
    lines = [f"| {head} | score | score of others | at first | with chaos |", "|---" * 13 + "|"]
    for group in GROUPS:
        draws = seeds(group)
        parts: list[tuple[str, bool | None, int | None]] = [(group, None, None), (f"{group}: SQL alone", True, None)]
        parts += [(f"{group}: the draw of seed {seed}", None, seed) for seed in draws]
        for name, is_sql, seed in parts:
            got = figures(group, is_sql=is_sql, seed=seed)
            if got["judged"]:
                named = ("judged", "caught", "corpus", "broke", "dialect", "equivalent", "chaos", "open")
                cells, missed = [got[one] for one in named], got["chaos"] + got["open"]
                first = figures(group, is_sql=is_sql, seed=seed, at_first=True)
                at_first = _share(first["caught"], first["open"]) if (seed or 0) >= KEPT_SINCE else ""
                others = _share(got["caught"] - got["broke"], missed)
                whole = _share(got["caught"] + got["chaos"], got["open"])
                shares = [_share(got["caught"], missed), others, at_first, whole]
                lines.append(f"| {name} | {' | '.join([*map(str, cells), *shares])} |")
    return lines


def _share(caught: int, left: int) -> str:
    return f"{100 * caught / (caught + left):.1f} %" if caught + left else "none"


def _survivors(group: str) -> list[str]:
    told = reasons()
    left = [line for line in results(group) if line["outcome"] in ALIVE]
    if not left:
        return []
    lines = [f"## Not killed, of {group}", "", "| mutant | was → is | |", "|---|---|---|"]
    for one in sorted(left, key=lambda line: (line["module"], line["definition"], line["mutant"])):
        why = told.get(one["mutant"], {})
        said = f"equivalent: {why['equivalent']}" if "equivalent" in why else f"**open**: {why.get('open', '?')}"
        place = f"{one['module'].removeprefix('refbus.')} {one['definition']}"
        lines.append(f"| `{one['mutant']}` {place} | {_code(one['before'])} → {_code(one['after'])} | {said} |")
    return [*lines, ""]


def _code(text: str) -> str:
    return "`" + " ⏎ ".join(text.splitlines()).replace("|", "\\|").replace("`", "'") + "`"


if __name__ == "__main__":
    (FOLDER / "README.md").write_text(text(), encoding="utf-8")
    for line in wrong():
        print(line)
    sys.exit(bool(wrong()))
