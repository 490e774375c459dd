"""Errors of seed 000: agents, tools, swarms, groups and hooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbiter._internal.errors.base import OrbiterError
from orbiter._internal.errors.categories import ConfigurationError, MessageFormatError


class AgentError(OrbiterError):
    """Agent-level failures: duplicate tools, missing provider, retries spent, context length exceeded."""


class AgentConfigurationError(ConfigurationError, AgentError):
    """Agent setup errors (seed 003): a declaration of an agent that cannot be meant."""


class ToolError(OrbiterError):
    """Raised when a tool execution fails."""


class CallRunnerError(OrbiterError):
    """An agent's run failed, or its tool calls go round in a circle."""


class LoopDetectedError(CallRunnerError):
    """The same tool calls were repeated `count` times in a row, and `threshold` is the limit.

    Attributes:
        count: How often the same calls were made in a row.
        threshold: How many times in a row make a loop.
    """

    count: int = 0
    threshold: int = 0


class SwarmError(OrbiterError):
    """Swarm configuration and orchestration failures."""


class HandoffLimitError(SwarmError):
    """More transitions between agents than `max_handoffs` allows.

    Attributes:
        max_handoffs: The limit.
    """

    max_handoffs: int = 0


class RegistryError(OrbiterError):
    """A registry holds the name already, or does not hold it."""


class OutputParseError(MessageFormatError):
    """A model's output cannot be parsed: malformed tool arguments, or structured output that breaks its schema.

    It is the `MessageFormatError` of seed 003 that the framework raises.

    Args:
        *args: As of `OrbiterError`.
        expected: The type that structured output should have had.
        **more: As of `OrbiterError`, and the attribute below.

    Attributes:
        raw: What the model wrote.
    """

    raw: str | None = None

    def __init__(self, *args: Any, expected: Any = None, **more: Any) -> None:
        super().__init__(*args, **more)
        # A type, so no fact for `context`: what structured output should have been.
        self.expected = expected


class GroupError(OrbiterError):
    """A parallel or serial group is configured wrongly, or a member of it failed."""


class JoinError(GroupError):
    """A group's or team's join policy is not met. `failed` maps member names to error texts.

    Attributes:
        policy: The join policy's word.
        failed: The error texts of the members that failed, by name.
        succeeded: Names of the members that succeeded.
    """

    policy: str = ""
    failed: Mapping[str, str] = {}
    succeeded: tuple[str, ...] = ()


class NestedSwarmError(OrbiterError):
    """A `SwarmNode` was given something that is not a swarm, or the swarm inside it failed."""


class HookError(OrbiterError, ValueError):
    """A hook is not usable: it is not callable, its hook point is unknown, or what it left cannot be used."""
