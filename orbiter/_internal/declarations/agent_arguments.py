"""Checks of what an agent is declared with. Each refuses what cannot be meant, where it is written."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from orbiter._internal.arguments import COUNT, NAME, NUMBER, SERIES, WHOLE, check_argument
from orbiter._internal.declarations.budget_limits import BUDGET_LIMITS
from orbiter.errors import AgentConfigurationError


def check_agent_identity(name: Any, model: Any, instructions: Any, output_type: Any) -> None:
    """Raises `AgentConfigurationError` where one of them is of the wrong kind."""
    check_argument("Agent", "name", name, NAME, example="'researcher'", error=AgentConfigurationError)
    if not isinstance(model, str):
        raise AgentConfigurationError(
            f"Agent '{name}': model must be a string, got {model!r}",
            suggestion="Write 'provider:model', such as 'openai:gpt-4o'; a provider of your own goes to run().",
        )
    if not (instructions is None or isinstance(instructions, str) or callable(instructions)):
        raise AgentConfigurationError(
            f"Agent '{name}': instructions must be a text or a function of the agent's name, got {instructions!r}"
        )
    if output_type is not None and not (isinstance(output_type, type) and issubclass(output_type, BaseModel)):
        raise AgentConfigurationError(
            f"Agent '{name}': output_type must be a pydantic model, got {output_type!r}",
            suggestion="Derive a class from pydantic.BaseModel.",
        )


def check_agent_limits(name: str, max_steps: Any, max_wall_time_s: Any, temperature: Any, max_tokens: Any) -> None:
    """Raises `AgentConfigurationError` where one of them is not a number, or out of its range. None stands for no limit
    and for the provider's own, except as a number of steps.
    """
    owner = f"Agent '{name}'"
    check_argument(owner, "max_steps", max_steps, WHOLE, example="10", error=AgentConfigurationError)
    if max_steps < 1:
        raise AgentConfigurationError(
            f"{owner}: max_steps must be at least 1, got {max_steps}", suggestion="One step is one model call."
        )
    allowed = BUDGET_LIMITS["max_wall_time_s"]
    if max_wall_time_s is not None and not allowed.takes(max_wall_time_s):
        raise AgentConfigurationError(
            f"{owner}: max_wall_time_s must be {allowed.words}, for example 30, got {max_wall_time_s!r}"
        )
    if temperature is not None:
        check_argument(owner, "temperature", temperature, NUMBER, example="0.7", error=AgentConfigurationError)
    if max_tokens is not None:
        check_argument(owner, "max_tokens", max_tokens, COUNT, example="1000", error=AgentConfigurationError)


_EXAMPLES = {"tools": "[search]", "handoffs": "[billing]", "hooks": "[(HookPoint.START, my_hook)]"}


def check_agent_lists(name: str, **given: Any) -> None:
    """Raises `AgentConfigurationError` where one is not a list; None stands for an empty one."""
    for argument, value in given.items():
        if value is not None:
            check_argument(
                f"Agent '{name}'",
                argument,
                value,
                SERIES,
                example=_EXAMPLES[argument],
                error=AgentConfigurationError,
            )
