"""The acts of chaos, in the order in which they are played."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from buschaos.acts.base import Act
from buschaos.acts.damage import Damaged
from buschaos.acts.disk_full import FullDisk
from buschaos.acts.gone_callers import CallersGo
from buschaos.acts.holds import HeldCalls
from buschaos.acts.kill_points import KillPoints
from buschaos.acts.power_loss import PowerCuts
from buschaos.acts.random_kills import RandomKills
from buschaos.acts.waits import Waits
from buschaos.nemeses import server
from busproof.contract.catalogue import catalogue

ACTS: tuple[Act[Any], ...] = (
    RandomKills(),
    KillPoints(),
    PowerCuts(),
    FullDisk(),
    Damaged(),
    CallersGo(),
    Waits(),
    HeldCalls(),
)
BY_NAME = {act.name: act for act in ACTS}


def acts_of(system: str, specs: Sequence[str] = ()) -> list[Act[Any]]:
    """The acts that rows of the system name. A bus on a server can be played by few of them."""
    named = {row.check for row in catalogue(system).values()}
    on_a_server = server.is_on_a_server(specs)
    return [act for act in ACTS if act.name in named and (act.plays_servers or not on_a_server)]
