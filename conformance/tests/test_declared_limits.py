"""Every limit that a contract lets a bus declare has a call that tries it."""

import contextlib
from typing import Any

import pytest

from busproof.bus.fleet import Fleet, reference
from busproof.contract import CONTRACTS
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
