"""Tool sets as durable engines of pydantic-ai want them: known before the run, and with an id. Agents alone need
neither.

An id is made of what a tool set is, so that it is the same in every life. It stays with the tool set.

pydantic-ai has no public names for what is read and set here. A version that has others is refused in words.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.toolsets import AbstractToolset

from orbiter.errors import ConfigurationError


def with_toolsets(agent: Agent[Any, Any], toolsets: Sequence[AbstractToolset[Any]]) -> Agent[Any, Any]:
    """The agent with the tool sets of a run, and with those that were added to it later (`@agent.toolset`) counted
    among those that it was made with: they are there in every life. A copy, where that changes something.

    Raises:
        ConfigurationError: This version of pydantic-ai keeps them in another way.
    """
    with _known_version():
        count = len(agent._dynamic_toolsets)
        if not toolsets and agent._constructor_dynamic_toolset_count == count:
            return agent
        agent = copy.copy(agent)
        agent._user_toolsets = [*agent._user_toolsets, *toolsets]
        agent._constructor_dynamic_toolset_count = count
        return agent


def name_toolsets(toolsets: Sequence[AbstractToolset[Any]]) -> None:
    """Give each tool set that has no id of its own one that no other of the agent has.

    Raises:
        ConfigurationError: This version of pydantic-ai keeps ids in another way.
    """
    leaves: list[AbstractToolset[Any]] = []
    for each in toolsets:
        each.apply(leaves.append)
    with _known_version():
        own = {id(each): each._explicit_id for each in leaves}
    taken = {found for found in own.values() if found is not None}
    for leaf in leaves:
        if own[id(leaf)] is not None:
            continue
        base = _described(leaf)
        name = next(each for each in _numbered(base, len(taken) + 1) if each not in taken)
        taken.add(name)
        _give(leaf, name)


@contextmanager
def _known_version() -> Iterator[None]:
    try:
        yield
    except AttributeError as exc:
        version = metadata.version("pydantic-ai-slim")
        raise ConfigurationError(
            f"pydantic-ai {version} keeps tool sets in a way that this program does not know ({exc}):"
            f" pip install 'pydantic-ai-slim<{version}'"
        ) from exc


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
