"""`busproof completion`: a shell's offers after each word, as a script made from the command line's own parsers."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

_HEAD = """\
# In ~/.bashrc: eval "$(busproof completion)"
# In ~/.zshrc the same, after: autoload -U compinit bashcompinit; compinit; bashcompinit
_busproof() {
    local words
    case "${COMP_WORDS[1]}" in"""
_TAIL = """\
    esac
    [ "$COMP_CWORD" -eq 1 ] && words="%s"
    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -o bashdefault -F _busproof busproof"""


def script(parsers: Mapping[str, argparse.ArgumentParser]) -> str:
    """For bash and zsh: the commands first, then each command's options and the names that it takes."""
    cases = [f'        {name}) words="{" ".join(_words(parser))}" ;;' for name, parser in parsers.items()]
    return "\n".join([_HEAD, *cases, _TAIL % " ".join(parsers)])


def _words(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        yield from action.option_strings
        yield from map(str, action.choices or ())
