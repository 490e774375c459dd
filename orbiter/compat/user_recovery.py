"""Asks the user what to do about an error (seed 003)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

from orbiter.errors import (
    OrbiterError,
    PermissionError,  # noqa: A004 - seed 003 names it so
    RateLimitError,
    ValidationError,
)


class Topology(Protocol):
    """What a recovery must know of who takes part."""

    def has_node(self, name: str) -> bool:
        """Whether a participant has that name."""


class UserRecoveryHandler:
    """Handle error recovery through user interaction.

    Args:
        ask: Puts a question to the user and returns the answer. If not given, the operator is asked
            (`orbiter.ask.ask_operator`), which needs a runtime.
        actions: What to do for an option, by its label: ``await action(error, context)``. For an option without one
            the label is returned, and "Abort execution" raises the error.
    """

    def __init__(
        self,
        ask: Callable[[str], Awaitable[str]] | None = None,
        actions: Mapping[str, Callable[[OrbiterError, Mapping[str, Any]], Awaitable[Any]]] | None = None,
    ) -> None:
        self._ask = ask
        self._actions = actions or {}

    async def handle_error_with_user(
        self, error: OrbiterError, context: Mapping[str, Any], topology: Topology
    ) -> Any | None:
        """Route an error to the user and carry out what is chosen; None where no node "User" takes part.

        An answer that is not an option aborts: nothing is done that was not chosen.

        Raises:
            OrbiterError: The user aborts: `error` itself.
        """
        if not topology.has_node("User"):
            return None
        options = self._get_recovery_options(error)
        prompt = (
            f"\n{self._format_error_for_user(error)}\nHow would you like to proceed?\n{self._format_options(options)}\n"
        )
        response = await self._get_user_input(prompt, context)
        return await self._execute_recovery(response, error, context)

    def _get_recovery_options(self, error: OrbiterError) -> list[str]:
        options = ["Abort execution"]
        if error.recoverable:
            options.insert(0, "Retry operation")
        if isinstance(error, ValidationError):
            options.insert(0, "Provide corrected input")
        if isinstance(error, PermissionError):
            options.insert(0, "Grant permission")
        if isinstance(error, RateLimitError):
            options.insert(0, "Wait and retry")
        return options

    def _format_error_for_user(self, error: OrbiterError) -> str:
        lines = [f"{type(error).__name__}: {error.message}"]
        if error.suggestion:
            lines.append(f"Suggestion: {error.suggestion}")
        return "\n".join(lines)

    def _format_options(self, options: Sequence[str]) -> str:
        return "\n".join(f"{number}. {option}" for number, option in enumerate(options, 1))

    async def _get_user_input(self, prompt: str, context: Mapping[str, Any]) -> str:
        if self._ask is not None:
            return await self._ask(prompt)
        from orbiter.ask import ask_operator

        return str(await ask_operator(prompt))

    async def _execute_recovery(self, response: str, error: OrbiterError, context: Mapping[str, Any]) -> Any:
        option = _chosen(response, self._get_recovery_options(error))
        action = self._actions.get(option)
        if action is not None:
            return await action(error, context)
        if option == "Abort execution":
            raise error
        return option


def _chosen(response: str, options: Sequence[str]) -> str:
    """The option that an answer names: by number, by label, or by a word that only one label begins with."""
    answer = response.strip().rstrip(".!").casefold()
    if answer.isdecimal() and 1 <= int(answer) <= len(options):
        return options[int(answer) - 1]
    meant = [option for option in options if answer and option.casefold().startswith(answer)]
    return meant[0] if len(meant) == 1 else "Abort execution"
