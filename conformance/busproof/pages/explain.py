"""`busproof explain ROW` and `busproof list SYSTEM`: a requirement, its check, and a bus that breaks it."""

from __future__ import annotations

import difflib
import itertools
import json
import textwrap

from busproof.contract import CONTRACTS
from busproof.contract.catalogue import Requirement, catalogue
from busproof.faults.record import faults, folder
from busproof.play.explore import corpus
from busproof.systems import SYSTEMS

WIDTH = 100
_DECIDES = {
    "scenario": "a scenario: {sentence}",
    "history": "a check of the history that a workload leaves ({check})",
    "explore": "a search for a program on which the bus and the model of the system differ",
    "corpus": "the corpus: scripts that are replayed against the model of the system",
    "chaos": "fault injection ({check})",
    "excluded": "nothing, because {excluded}",
}


def explain(row_id: str) -> list[str]:
    """The lines about a row. Raises KeyError for an id that no catalogue has."""
    row = catalogue(_system_of(row_id))[row_id]
    lines = [f"{row.id}  {row.level}", *_wrapped(row.text), "", f"  source      {row.source}"]
    lines += [f"  decided by  {_decider(row)}"]
    if row.kind not in ("corpus", "excluded") and row.id in corpus.cited(SYSTEMS[_system_of(row_id)].model):
        lines += ["              and by the corpus: scripts that are replayed against the model, which cites this row"]
    if reaching := corpus.index(_system_of(row_id)).get(row_id):
        lines += [f"  shown by    busproof explore {_system_of(row_id)} --script {reaching[0]} --answers"]
    if row.needs:
        lines += [f"  needs       {', '.join(row.needs)} (declared in hello; without it the row is not applicable)"]
    lines += [f"  the whole   docs/spec/{_system_of(row_id)}.md"]
    killed = [fault for fault in faults(_system_of(row_id)).values() if row.id in fault.rows]
    if killed:
        lines += ["", "  buses that break it (busproof faults run NAME):"]
        lines += [f"    {fault.id:<48} {fault.sentence}" for fault in killed]
    elif not (folder() / "mailbox").is_dir():
        lines += ["", "  a checkout of busproof has buses that break it, and tells them here"]
    if row.item:
        lines += ["", f"  busproof check {_system_of(row_id)} --only {row.id} --bus …"]
    elif row.kind == "chaos":
        lines += ["", f"  busproof chaos {_system_of(row_id)} --bus …"]
    return lines


def like(row_id: str) -> list[str]:
    """Ids of rows that somebody may have meant: with the system left out, or with another number."""
    known = [name for system in CONTRACTS for name in catalogue(system)]
    return [name for name in known if name.endswith(f".{row_id}")] or difflib.get_close_matches(row_id, known, 3, 0.9)


def listing(system: str) -> list[str]:
    """Every row of a system under its noun."""
    lines = []
    rows = sorted(catalogue(system).values(), key=lambda row: row.noun)
    for noun, group in itertools.groupby(rows, key=lambda row: row.noun):
        members = list(group)
        lines += [f"{noun} ({len(members)})"]
        lines += [f"  {row.id:<20} {row.level:<8} {row.check or 'excluded':<32} {row.text}" for row in members]
    return lines


def as_json(system: str) -> str:
    """Every row with its check, as JSON."""
    rows = [{**row.model_dump(), "kind": row.kind, "item": row.item} for row in catalogue(system).values()]
    return json.dumps(rows, indent=1)


def _system_of(row_id: str) -> str:
    system = row_id.partition(".")[0]
    if system not in CONTRACTS:
        raise KeyError(row_id)
    return system


def _decider(row: Requirement) -> str:
    scenario = SYSTEMS[_system_of(row.id)].scenarios.get(row.check or "")
    sentence = scenario.says.splitlines()[0] if scenario and scenario.says else row.check
    return _DECIDES[row.kind].format(sentence=sentence, check=row.check, excluded=row.excluded)


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")
