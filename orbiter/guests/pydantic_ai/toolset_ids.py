"""Ids for tool sets that have none: durable engines of pydantic-ai know a tool set by its id, agents alone do not need
one.

An id is made of what a tool set is, so that it is the same in every life. It stays with the tool set.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai.toolsets import AbstractToolset


def name_toolsets(toolsets: Sequence[AbstractToolset[Any]]) -> None:
    """Give each tool set that has no id of its own one that no other of the agent has."""
    leaves: list[AbstractToolset[Any]] = []
    for each in toolsets:
        each.apply(leaves.append)
    taken = {found for each in leaves if (found := each._explicit_id) is not None}
    for leaf in leaves:
        if leaf._explicit_id is not None:
            continue
        base = _described(leaf)
        name = next(each for each in _numbered(base, len(taken) + 1) if each not in taken)
        taken.add(name)
        _give(leaf, name)


def _described(leaf: AbstractToolset[Any]) -> str:
    """What the tool set is, in words that are the same in every process."""
    function = getattr(leaf, "toolset_func", None)
    if function is not None:
        return str(getattr(function, "__name__", "") or type(leaf).__name__)
    tools = getattr(leaf, "tools", None)
    if isinstance(tools, dict) and tools:
        return "+".join(sorted(tools))
    return leaf.id or type(leaf).__name__


def _numbered(base: str, most: int) -> list[str]:
    return [base, *(f"{base}-{number}" for number in range(2, most + 2))]


def _give(leaf: AbstractToolset[Any], name: str) -> None:
    """A class of a user's own whose id cannot be set is left as it is: pydantic-ai says what it needs."""
    settable = isinstance(found := getattr(type(leaf), "id", None), property) and found.fset is not None
    attribute = "id" if settable else "_id"
    if settable or hasattr(leaf, "_id"):
        setattr(leaf, attribute, name)
