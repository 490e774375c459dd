"""Orbiter: agents, tools, swarms, and how they are run.

The names are loaded when they are first asked for: ``import orbiter`` itself costs next to nothing, and a program that
needs only a part of the package loads only that part. What agents, tools and swarms declare imports nothing of the
engine: `run` looks it up.

Imports `orbiter._internal.*`, `orbiter.models`, `orbiter.parsing`, `jsonschema`, `pydantic`,
`pydantic_core`, `re2`, `referencing` and `typing_extensions`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from orbiter.agent import Agent
    from orbiter.ask import NeedsInput, ask_operator, is_granted, require_permission
    from orbiter.errors import OrbiterError
    from orbiter.hooks import HookPoint
    from orbiter.human import HumanInputTool
    from orbiter.models.provider import ModelProvider
    from orbiter.policy import ErrorHandlingConfig, FailurePolicy, JoinPolicy
    from orbiter.runner import run
    from orbiter.swarm import ParallelGroup, SerialGroup, Swarm, SwarmNode
    from orbiter.tool import FunctionTool, Tool, ToolContext, tool
    from orbiter.types import (
        AgentOutput,
        AssistantMessage,
        ChatProvider,
        ErrorEvent,
        Message,
        ReasoningEvent,
        Runnable,
        RunResult,
        StatusEvent,
        StepEvent,
        StreamEvent,
        SystemMessage,
        TextEvent,
        ToolCall,
        ToolCallEvent,
        ToolResult,
        ToolResultEvent,
        Usage,
        UsageEvent,
        UserMessage,
    )

__all__ = [
    "Agent",
    "AgentOutput",
    "AssistantMessage",
    "ChatProvider",
    "ErrorEvent",
    "ErrorHandlingConfig",
    "FailurePolicy",
    "FunctionTool",
    "HookPoint",
    "HumanInputTool",
    "JoinPolicy",
    "Message",
    "ModelProvider",
    "NeedsInput",
    "OrbiterError",
    "ParallelGroup",
    "ReasoningEvent",
    "RunResult",
    "Runnable",
    "SerialGroup",
    "StatusEvent",
    "StepEvent",
    "StreamEvent",
    "Swarm",
    "SwarmNode",
    "SystemMessage",
    "TextEvent",
    "Tool",
    "ToolCall",
    "ToolCallEvent",
    "ToolContext",
    "ToolResult",
    "ToolResultEvent",
    "Usage",
    "UsageEvent",
    "UserMessage",
    "ask_operator",
    "is_granted",
    "require_permission",
    "run",
    "tool",
]

_HOMES = {
    "Agent": "agent",
    "AgentOutput": "types",
    "AssistantMessage": "types",
    "ChatProvider": "types",
    "ErrorEvent": "types",
    "ErrorHandlingConfig": "policy",
    "FailurePolicy": "policy",
    "FunctionTool": "tool",
    "HookPoint": "hooks",
    "HumanInputTool": "human",
    "JoinPolicy": "policy",
    "Message": "types",
    "ModelProvider": "models.provider",
    "NeedsInput": "ask",
    "OrbiterError": "errors",
    "ParallelGroup": "swarm",
    "ReasoningEvent": "types",
    "RunResult": "types",
    "Runnable": "types",
    "SerialGroup": "swarm",
    "StatusEvent": "types",
    "StepEvent": "types",
    "StreamEvent": "types",
    "Swarm": "swarm",
    "SwarmNode": "swarm",
    "SystemMessage": "types",
    "TextEvent": "types",
    "Tool": "tool",
    "ToolCall": "types",
    "ToolCallEvent": "types",
    "ToolContext": "tool",
    "ToolResult": "types",
    "ToolResultEvent": "types",
    "Usage": "types",
    "UsageEvent": "types",
    "UserMessage": "types",
    "ask_operator": "ask",
    "is_granted": "ask",
    "require_permission": "ask",
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
