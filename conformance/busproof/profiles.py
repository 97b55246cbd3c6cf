"""Profiles: named sets of nouns that a bus may be held to, whatever it declares."""

from __future__ import annotations

from busproof.protocol import Noun

PROFILES: dict[str, dict[str, tuple[Noun, ...]]] = {
    "worker": {
        "core": ("log", "cursor", "route", "lease", "presence"),
        "full": ("log", "cursor", "route", "lease", "presence", "blob", "retry", "limit", "search", "export"),
    },
    "comms": {
        "core": ("log", "route", "lease"),
        "full": ("log", "route", "lease", "retry", "presence", "blob", "limit", "export"),
    },
    "topics": {
        "core": ("log", "cursor", "route", "lease"),
        "full": ("log", "cursor", "route", "lease", "presence", "search", "limit"),
    },
}


def demanded(system: str, profile: str | None) -> tuple[Noun, ...]:
    """The nouns that a profile demands; none for no profile. Raises KeyError for an unknown one."""
    return () if profile is None else PROFILES[system][profile]
