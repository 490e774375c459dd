"""Every error of the framework: one tree under `OrbiterError`, and what there is to know of any exception.

The classes of seed 000 (documented there at other import paths, which re-export them from here) and the classes
of seed 003 (`MarsysError` and its families) are one tree: 003's names are aliases or leaves of it.

`GraphError` (orbiter._internal.graph) stands outside the tree, as seed 000 wants it.
"""

from __future__ import annotations

from orbiter._internal.errors.agents import (
    AgentConfigurationError,
    AgentError,
    CallRunnerError,
    GroupError,
    HandoffLimitError,
    HookError,
    JoinError,
    LoopDetectedError,
    NestedSwarmError,
    OutputParseError,
    RegistryError,
    SwarmError,
    ToolError,
)
from orbiter._internal.errors.base import AgentFrameworkError, MarsysError, OrbiterError
from orbiter._internal.errors.calls import (
    APIError,
    ModelAPIError,
    ModelError,
    ModelRateLimitError,
    ModelTimeoutError,
    RateLimitError,
    ToolCallError,
    ToolExecutionError,
)
from orbiter._internal.errors.categories import (
    ActionValidationError,
    AgentExecutionError,
    AgentPermissionError,
    ConfigurationError,
    ExecutionError,
    MessageFormatError,
    PermissionError,  # noqa: A004 - seed 003 names it so
    PoolExhaustedError,
    TimeoutError,  # noqa: A004 - seed 003 names it so
    TopologyError,
    ValidationError,
)
from orbiter._internal.errors.chain import MAX_CAUSES, cause_of, causes, text_of

__all__ = [
    "MAX_CAUSES",
    "APIError",
    "ActionValidationError",
    "AgentConfigurationError",
    "AgentError",
    "AgentExecutionError",
    "AgentFrameworkError",
    "AgentPermissionError",
    "CallRunnerError",
    "ConfigurationError",
    "ExecutionError",
    "GroupError",
    "HandoffLimitError",
    "HookError",
    "JoinError",
    "LoopDetectedError",
    "MarsysError",
    "MessageFormatError",
    "ModelAPIError",
    "ModelError",
    "ModelRateLimitError",
    "ModelTimeoutError",
    "NestedSwarmError",
    "OrbiterError",
    "OutputParseError",
    "PermissionError",
    "PoolExhaustedError",
    "RateLimitError",
    "RegistryError",
    "SwarmError",
    "TimeoutError",
    "ToolCallError",
    "ToolError",
    "ToolExecutionError",
    "TopologyError",
    "ValidationError",
    "cause_of",
    "causes",
    "text_of",
]


for _name in __all__:
    # They are known, pickled and shown by the name under which they are imported.
    if isinstance(_found := globals()[_name], type):
        _found.__module__ = __name__
