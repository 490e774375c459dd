"""Errors of seed 003: validation, configuration, execution, permission.

Two names shadow builtins on purpose, because seed 003 says so: `TimeoutError` and `PermissionError`. Each is also an
instance of the builtin that it shadows, so code that knows only the builtin still catches it.
"""

from __future__ import annotations

import builtins
from typing import Any

from orbiter._internal.errors.base import OrbiterError


class ValidationError(OrbiterError):
    """Input or output does not have the form it must have."""


class MessageFormatError(ValidationError):
    """A message is malformed."""

    invalid_content: str | None = None
    expected_format: str | None = None


class ActionValidationError(ValidationError):
    """Invalid agent actions."""

    action: str | None = None
    valid_actions: tuple[str, ...] | list[str] | None = None
    action_input: Any = None


class ConfigurationError(OrbiterError):
    """Configuration problems."""

    config_field: str | None = None
    config_value: Any = None


class TopologyError(ConfigurationError):
    """Topology definition errors."""

    topology_issue: str | None = None
    affected_nodes: tuple[str, ...] | list[str] | None = None


class ExecutionError(OrbiterError):
    """Runtime execution failures."""


class AgentExecutionError(ExecutionError):
    """Agent execution failures."""


class TimeoutError(ExecutionError, builtins.TimeoutError):  # noqa: A001 - seed 003 names it so
    """Operation timeout. Times in seconds."""

    operation: str | None = None
    timeout_seconds: float | None = None
    elapsed_seconds: float | None = None


class PoolExhaustedError(ExecutionError):
    """No thread is left for a blocking call: too many abandoned calls never came back, or too many wait for others."""

    recoverable = True
    total: int | None = None
    abandoned: int | None = None


class PermissionError(OrbiterError, builtins.PermissionError):  # noqa: A001 - seed 003 names it so
    """Access control violations.

    `permission` names what is missing, as ``verb:object`` (``fs.write:/srv/report.md``); so do `verb` and `object`
    together. A runtime asks an operator to grant what is named (see `orbiter.ask`).
    """

    permission: str | None = None
    verb: str | None = None
    object: str | None = None


class AgentPermissionError(PermissionError):
    """Agent invocation denied. A runtime offers to grant ``agent.invoke`` for `target_agent`."""

    target_agent: str | None = None
    allowed_agents: tuple[str, ...] | list[str] | None = None
