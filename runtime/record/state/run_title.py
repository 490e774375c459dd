"""A run's title: what people call it in lists, notices and palettes.

It is the one that was given, else the first line of the input that has a letter, without marks of Markdown.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

MAX_TITLE: Final = 80
"""Characters of a title that is taken from the input."""
_SCANNED: Final = 4_000
"""Characters of the input in which the line is looked for."""
_MARKS: Final = r"^(?:\s|>|#{1,6}\s|[*+-]\s|\d{1,3}[.)]\s)+|\s#+$"
"""Quotation, list and heading marks before a line, closing marks behind it."""
_EMPHASIS: Final = r"(\*\*|__|\*|`)(?=\S)(.+?)(?<=\S)\1"


def run_title(given: str, ref: str, input: str) -> str:
    """The title of a run.

    Args:
        given: The title that was given for it, or recorded. Earlier programs recorded the swarm's name.
        ref: The reference of its swarm.
        input: Its input.

    Returns:
        One line; the swarm's name where the input has no letter.
    """
    name = swarm_name(ref)
    if given and given != name:
        return given
    return input_title(input[:_SCANNED]) or given or name


@lru_cache(maxsize=20_000)
def input_title(input: str) -> str:
    """The first line with a letter, without marks of Markdown; empty if there is none."""
    for line in input[:_SCANNED].splitlines():
        if any(character.isalpha() for character in line):
            plain = " ".join(re.sub(_EMPHASIS, r"\2", re.sub(_MARKS, "", line)).split())
            return plain if len(plain) <= MAX_TITLE else f"{plain[: MAX_TITLE - 1].rstrip()}…"
    return ""


@lru_cache(maxsize=1_000)
def swarm_name(ref: str) -> str:
    """`trip.py:flow`, of a reference with its path; empty for an empty one."""
    target, _, attribute = ref.rpartition(":")
    name = target.replace("\\", "/").rpartition("/")[2]
    return f"{name}:{attribute}" if name else attribute
