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
    """A message is malformed.

    Attributes:
        invalid_content: What was malformed.
        expected_format: What it should have been.
    """

    invalid_content: str | None = None
    expected_format: str | None = None


class ActionValidationError(ValidationError):
    """Invalid agent actions.

    Attributes:
        action: The action that was asked for.
        valid_actions: The actions that there are.
        action_input: What it was asked with.
    """

    action: str | None = None
    valid_actions: tuple[str, ...] | list[str] | None = None
    action_input: Any = None


class ConfigurationError(OrbiterError):
    """Configuration problems.

    `str()` is the message, and the suggestion if it names the word that was meant: a plain traceback shows both.
    `message` and `suggestion` stay apart.

    Attributes:
        config_field: The setting's name.
        config_value: What it was set to.

    Examples:
        >>> from orbiter import FailurePolicy
        >>> from orbiter.errors import ConfigurationError
        >>> try:
        ...     FailurePolicy(tool="contniue")
        ... except ConfigurationError as error:
        ...     print(error.config_field, error.config_value)
        ...     print(str(error).partition(" Valid")[0])
        failure contniue
        Unknown failure policy for a tool: 'contniue'. Did you mean 'continue'?
    """

    config_field: str | None = None
    config_value: Any = None

    def __str__(self) -> str:
        said = super().__str__()
        meant = self.suggestion or ""
        return f"{said}. {meant}" if meant.startswith("Did you mean ") and meant not in said else said


class TopologyError(ConfigurationError):
    """Topology definition errors.

    Attributes:
        topology_issue: What is wrong with it, in a word.
        affected_nodes: Names of the agents concerned.
    """

    topology_issue: str | None = None
    affected_nodes: tuple[str, ...] | list[str] | None = None


class ExecutionError(OrbiterError):
    """Runtime execution failures."""


class AgentExecutionError(ExecutionError):
    """Agent execution failures."""


class TimeoutError(ExecutionError, builtins.TimeoutError):  # noqa: A001 - seed 003 names it so
    """Operation timeout. Times in seconds.

    Attributes:
        operation: What took too long.
        timeout_seconds: The limit, in seconds.
        elapsed_seconds: What it took, in seconds.

    Examples:
        >>> import builtins
        >>> from orbiter.errors import TimeoutError
        >>> error = TimeoutError("No answer came", operation="search", timeout_seconds=30)
        >>> isinstance(error, builtins.TimeoutError), error.context["timeout_seconds"]
        (True, 30)
    """

    operation: str | None = None
    timeout_seconds: float | None = None
    elapsed_seconds: float | None = None


class PoolExhaustedError(ExecutionError):
    """No thread is left for a blocking call: too many abandoned calls never came back, or too many wait for others.

    Attributes:
        total: Threads that there are.
        abandoned: Threads whose call was given up and has not come back.
        begun: Whether the call may have begun. False only where the pool itself refused to begin it.
        refused: The tool whose call has not begun, where nothing was done for it before; None: not known.
    """

    recoverable = True
    total: int | None = None
    abandoned: int | None = None
    begun: bool = True
    refused: Any = None


class PermissionError(OrbiterError, builtins.PermissionError):  # noqa: A001 - seed 003 names it so
    """Access control violations.

    `permission` names what is missing, as ``verb:object`` (``fs.write:/srv/report.md``); so do `verb` and `object`
    together. A runtime asks an operator to grant what is named (see `orbiter.ask`).

    Attributes:
        permission: What is missing, as ``verb:object``.
        verb: The verb alone, such as ``fs.write``.
        object: The object alone, such as a path.

    Examples:
        >>> from orbiter.errors import PermissionError
        >>> PermissionError("The report is locked", permission="fs.write:/srv/report.md").context
        {'permission': 'fs.write:/srv/report.md'}
    """

    permission: str | None = None
    verb: str | None = None
    object: str | None = None


class AgentPermissionError(PermissionError):
    """Agent invocation denied. A runtime offers to grant ``agent.invoke`` for `target_agent`.

    Attributes:
        target_agent: The agent that was to be invoked.
        allowed_agents: The agents that may be.
    """

    target_agent: str | None = None
    allowed_agents: tuple[str, ...] | list[str] | None = None
