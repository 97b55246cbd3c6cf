"""refbus: the reference implementation of five local message buses; every judgement lives in `refbus.kernel`."""

__version__ = "0.1.0"
