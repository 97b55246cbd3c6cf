"""A twin of the state: a call is tried on it before anybody sends the call.

The trial shows whether the bus declares all that the call is about. A copy for each trial would take longer than the
trial: after a thousand messages, longer than everything else. So the twin lives on, and follows the state.
"""

from __future__ import annotations

from busproof.oracle.models.spec import Answer, Model
from busproof.play.explore.orders import Called, copy_of


class Twin:
    """Follows one state, for as long as calls are made one after the other; else a new copy is made."""

    def __init__(self) -> None:
        self.state: Model | None = None  # the state that it follows
        self.copy: Model | None = None
        self._tried: tuple[Called, int, Answer] | None = None  # the call that only the twin knows, and its time then

    def tries(self, state: Model, called: Called) -> Answer:
        """The end of this call in that state, which stays as it is. Raises DoesNotApply."""
        if self.copy is None or state is not self.state or self._tried is not None:
            self.copy = copy_of(state)
        self.state = None  # a call that does not apply may have changed the copy
        self.copy.luck, self.copy.asked = (), 0
        answer = self.copy.call(called.step, called.at, called.method, called.params, called.now_ms)
        self.state, self._tried = state, (called, called.now_ms, answer)
        return answer

    def follows(self, states: list[Model], calls: list[Called]) -> None:
        """These calls were made, and led to these states. What an answer chose, it chose for the twin, too."""
        tried, self._tried = self._tried, None
        state, self.state = self.state, None
        if tried is None or self.copy is None or len(states) != 1 or states[0] is not state:
            return
        called, now_ms, answer = tried
        is_its_time = called.now_ms is now_ms  # on the machine's clock a call has another one when it has ended
        is_as_tried = len(calls) == 1 and calls[0] is called and is_its_time and not self.copy.asked
        if is_as_tried and answer.differs(called.seen) is None:
            self.copy.last_rows = states[0].last_rows
            self.state = state
