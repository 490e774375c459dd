"""Orbiter: agents, tools, swarms, and how they are run.

The names are loaded when they are first asked for: ``import orbiter`` itself costs next to nothing, and a program that
needs only a part of the package loads only that part. What agents, tools and swarms declare imports nothing of the
engine: `run` looks it up.

Imports `orbiter._internal.*`, `orbiter.models`, `docstring_parser`, `jsonschema`, `pydantic`, `pydantic_core`, `re2`
and `referencing`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbiter.agent import Agent
    from orbiter.ask import NeedsInput, ask_operator
    from orbiter.errors import OrbiterError
    from orbiter.hooks import HookPoint
    from orbiter.human import HumanInputTool
    from orbiter.policy import FailurePolicy, JoinPolicy
    from orbiter.runner import run
    from orbiter.swarm import ParallelGroup, SerialGroup, Swarm, SwarmNode
    from orbiter.tool import FunctionTool, Tool, ToolContext, tool

__all__ = [
    "Agent",
    "FailurePolicy",
    "FunctionTool",
    "HookPoint",
    "HumanInputTool",
    "JoinPolicy",
    "NeedsInput",
    "OrbiterError",
    "ParallelGroup",
    "SerialGroup",
    "Swarm",
    "SwarmNode",
    "Tool",
    "ToolContext",
    "ask_operator",
    "run",
    "tool",
]

_HOMES = {
    "Agent": "agent",
    "FailurePolicy": "policy",
    "FunctionTool": "tool",
    "HookPoint": "hooks",
    "HumanInputTool": "human",
    "JoinPolicy": "policy",
    "NeedsInput": "ask",
    "OrbiterError": "errors",
    "ParallelGroup": "swarm",
    "SerialGroup": "swarm",
    "Swarm": "swarm",
    "SwarmNode": "swarm",
    "Tool": "tool",
    "ToolContext": "tool",
    "ask_operator": "ask",
    "run": "runner",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'orbiter' has no attribute '{name}'")
    found = getattr(import_module(f"orbiter.{home}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(ModuleType):
    """The package. `orbiter.tool` is the decorator, whichever of it and the module of that name is loaded first."""

    @property
    def tool(self) -> Any:
        """The decorator that makes a tool of a function."""
        return import_module("orbiter.tool").tool

    @tool.setter
    def tool(self, value: Any) -> None:
        # The import system puts the submodule here; `sys.modules` has it all the same.
        return


sys.modules[__name__].__class__ = _Package
