"""A face: one object that names its nouns, which do the work, and lends their methods its own name.

class Bus(Face):
    def __init__(self, folder):
        self.log = Log(Store(folder))

    publish = delegate("log", Log.publish)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

Parameters = ParamSpec("Parameters")
Reply = TypeVar("Reply")


class Face:
    """An object that is open until it is closed, or until its `with` block is left."""

    def close(self) -> None:
        """Let go of all that it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def delegate(
    noun: str, method: Callable[Concatenate[Any, Parameters], Reply]
) -> Callable[Concatenate[Any, Parameters], Reply]:
    """A method of the face that calls its noun's; with that one's signature and docstring."""
    name = method.__name__

    @functools.wraps(method)
    def delegated(face: Any, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Reply:
        return getattr(getattr(face, noun), name)(*args, **kwargs)  # type: ignore[no-any-return]

    return delegated


def delegated(namespace: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of the delegates in a class body, in their order."""
    return tuple(name for name, value in namespace.items() if hasattr(value, "__wrapped__"))
