"""busproof: the conformance kit for the local message buses of coding agents."""

__version__ = "0.1.0"
