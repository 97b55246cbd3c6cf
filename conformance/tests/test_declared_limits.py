"""Every limit that a contract lets a bus declare has a call that tries it."""

import contextlib
from pathlib import Path
from typing import Any

import pytest

from busproof.bus.base import Refused
from busproof.bus.fleet import Fleet, reference
from busproof.contract import CONTRACTS
from busproof.contract.bounds import Bound
from busproof.play.suite import stage
from busproof.systems import SYSTEMS

TRIED_BY = {
    "worker": ["limit.declared"],
    "comms": ["limit.declared"],
    "relay": ["limit.declared"],
    "timeline": ["log.declared_limits"],
    "mailbox": ["log.body_limit", "log.unread_limit", "log.age_limit", "cursor.page_limit"],
}
BY_THE_CORPUS = {"mailbox": {"attempts_max"}}  # which the model reads


class Asked(dict[str, int]):
    """Limits that remember which of them a script wanted to know."""

    def __init__(self, limits: dict[str, int]) -> None:
        super().__init__(limits)
        self.names: set[str] = set()

    def get(self, name: str, default: Any = None) -> Any:
        self.names.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> int:
        self.names.add(name)
        return super().__getitem__(name)


@pytest.mark.parametrize("system", [name for name, contract in CONTRACTS.items() if contract.limits])
def test_the_script_of_declared_limits_tries_each_of_the_contract(system: str) -> None:
    """A new limit without a call would be believed."""
    asked: set[str] = BY_THE_CORPUS.get(system, set()).copy()
    with contextlib.closing(Fleet([reference(system)], system=system)) as fleet:
        for name in TRIED_BY[system]:
            scenario = SYSTEMS[system].scenarios[name]
            with stage(fleet, run=name, options=scenario.options, alone=scenario.alone) as ctx:
                limits = Asked(ctx.hello.limits)
                ctx.hello = ctx.hello.model_copy(update={"limits": limits})
                scenario.play(ctx)
            asked |= limits.names
    assert asked >= CONTRACTS[system].limits.keys()


OPTIONS = [
    (system, option, bound)
    for system, contract in CONTRACTS.items()
    for bound in contract.bounds
    for option in contract.options
    if option in bound.fields.replace(",", " ").split()
]


@pytest.mark.parametrize(("system", "option", "bound"), OPTIONS)
def test_the_reference_takes_an_option_at_both_ends_of_its_bound_and_nothing_beyond(
    tmp_path: Path, system: str, option: str, bound: Bound
) -> None:
    """A table of the specification is made from these bounds."""
    with contextlib.closing(Fleet([reference(system)], system=system)) as fleet:
        door = fleet.door(0, tmp_path, {})
        for value in bound.taken:
            door.call("open", {"store": str(tmp_path), "options": {option: value}})
        for value in bound.refused:
            with pytest.raises(Refused, match="INVALID_ARGUMENT"):
                door.call("open", {"store": str(tmp_path), "options": {option: value}})
        door.close()
