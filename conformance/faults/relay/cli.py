"""Faults of `refbus relay …`, which no door of a bus reaches."""

from plant import fault, patch

from refbus.relay import service


@fault(test="reference/tests/relay/test_service.py::test_sigterm_ends_it_cleanly")
def sigterm_is_a_failure():
    """SIGTERM ends `relay run` with the exit code of a failure."""
    until_signal = service.until_signal

    def and_fail(*args):
        until_signal(*args)
        raise SystemExit(1)

    patch(service, until_signal=and_fail)
