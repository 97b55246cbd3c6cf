"""Time is witnessed, not assumed: a pulse that paused says that the machine gave none."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from busproof.play.explore.pulse import PAUSE_S_MAX, Pulse


@given(st.lists(st.floats(0.01, 2 * PAUSE_S_MAX), min_size=1, max_size=20))
def test_it_was_steady_exactly_where_no_pause_was_long(pauses: list[float]) -> None:
    pulse, at = Pulse(), 100.0
    for pause in pauses:
        at += pause
        pulse._beats.append(at)
    is_long = [after - before >= PAUSE_S_MAX for before, after in zip([100.0, *pulse._beats], pulse._beats)]  # noqa: B905
    assert pulse.was_steady(100.0, at) == (not any(is_long))


def test_no_beat_at_all_is_no_witness() -> None:
    assert not Pulse().was_steady(100.0, 100.0 + 8 * PAUSE_S_MAX)


def test_it_beats_while_it_is_wanted() -> None:
    with Pulse() as pulse:
        while len(pulse._beats) < 3:
            time.sleep(0.01)
    assert pulse._beats == sorted(pulse._beats)
