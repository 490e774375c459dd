"""The name that was probably meant where one is misspelt: one rule and one sentence for every error."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Final

LIKENESS: Final = 0.6
"""How like a name must be, as difflib measures it: from 0 to 1, where 1 is the same."""
NAME_CHARS: Final = 100
"""What is longer was not meant as a name, and takes long to compare."""


def near_names(word: object, known: Iterable[str], *, most: int = 1) -> list[str]:
    """The names that are spelled like a word, whether their letters are small or capital.

    Args:
        word: What was given.
        known: The names that are right.
        most: How many to give back at the most.

    Returns:
        The names as they are in `known`, the one that is most like the word first; empty where none is like it.

    Examples:
        >>> from orbiter.parsing.near_names import near_names
        >>> near_names("Retri", ["abort", "retry"])
        ['retry']
    """
    given = str(word).lower()
    if len(given) > NAME_CHARS:
        return []
    names: dict[str, str] = {}
    for name in known:
        names.setdefault(name.lower(), name)
    return [names[each] for each in get_close_matches(given, names, n=most, cutoff=LIKENESS)]


def did_you_mean(word: object, known: Iterable[str], *, form: str = "'{}'", sentence: bool = False) -> str:
    """The hint for a name that is not known, with a space behind it; empty where no name is like it.

    Args:
        word: What was given.
        known: The names that are right.
        form: How the name is shown, with ``{}`` in its place.
        sentence: Whether it begins a sentence.

    Examples:
        >>> from orbiter.parsing.near_names import did_you_mean
        >>> did_you_mean("retri", ["abort", "retry"])
        "did you mean 'retry'? "
    """
    near = near_names(word, known)
    return f"{'Did' if sentence else 'did'} you mean {form.format(near[0])}? " if near else ""
