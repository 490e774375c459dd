"""Seed 003's helper classes for code of one's own: retry, breaker, fallback, and asking the user.

A run needs none of them: the runtime retries, breaks, falls back and asks by itself, durably. They are for a function
that calls something outside, and behave, log and speak as the seed's page has it.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Protocol, TypeVar

from orbiter.errors import (
    APIError,
    ExecutionError,
    OrbiterError,
    PermissionError,  # noqa: A004 - seed 003 names it so
    RateLimitError,
    RegistryError,
    TimeoutError,  # noqa: A004 - seed 003 names it so
    ValidationError,
)
from orbiter.registry import agent_registry

R = TypeVar("R")
Func = Callable[..., Awaitable[R]]

logger = logging.getLogger("orbiter.recovery")

_SERVER_ERRORS = frozenset({500, 502, 503, 504})


class RetryHandler:
    """Intelligent retry with exponential backoff.

    Args:
        max_retries: Attempts in total, as the seed counts here.
        base_delay: Seconds before the second attempt, before jitter.
        max_delay: No delay of our own is longer, in seconds.
        exponential_base: What the delay grows by.
    """

    def __init__(
        self,
        max_retries: int = 3,
        base_delay: float = 1.0,
        max_delay: float = 60.0,
        exponential_base: float = 2.0,
    ) -> None:
        self.max_retries = max_retries
        self.base_delay = base_delay
        self.max_delay = max_delay
        self.exponential_base = exponential_base

    async def execute_with_retry(self, func: Func[R], *args: Any, **kwargs: Any) -> R:
        """What ``func(*args, **kwargs)`` returns, tried again after rate limits, time-outs and server errors.

        A rate limit waits as long as its ``context["retry_after"]`` says. A time-out is repeated only if it is
        `recoverable`, an `APIError` only for the statuses 500, 502, 503 and 504.

        Raises:
            ExecutionError: All attempts failed; the last error is its cause.
            Exception: What `func` raised and no repetition heals.
        """
        last: Exception | None = None
        for attempt in range(self.max_retries):
            try:
                return await func(*args, **kwargs)
            except Exception as exc:
                delay = self._delay_after(exc, attempt)
                last = exc
            # The seed sleeps after the last attempt too; nothing comes after it.
            if attempt + 1 < self.max_retries:
                await asyncio.sleep(delay)
        raise ExecutionError(
            f"Max retries ({self.max_retries}) exceeded",
            context={"last_error": str(last)},
            suggestion="Consider increasing timeout or using a different approach",
        ) from last

    def _delay_after(self, exc: Exception, attempt: int) -> float:
        """Seconds to wait after a failure that a repetition can heal; raises any other."""
        turn = f"Retry {attempt + 1}/{self.max_retries} in"
        if isinstance(exc, RateLimitError):
            hint = exc.context.get("retry_after")
            delay = self._calculate_delay(attempt) if hint is None else float(hint)
            logger.info("Rate limited. %s %ss", turn, delay)
            return delay
        delay = self._calculate_delay(attempt)
        if isinstance(exc, TimeoutError) and exc.recoverable:
            logger.warning("Timeout. %s %ss", turn, delay)
            return delay
        if isinstance(exc, APIError) and exc.context.get("status_code") in _SERVER_ERRORS:
            logger.warning("Server error (after adapter retries). %s %ss", turn, delay)
            return delay
        raise exc

    def _calculate_delay(self, attempt: int) -> float:
        """Exponential, times a half to one and a half, at most `max_delay`. `attempt` counts from 0."""
        try:
            delay = self.base_delay * self.exponential_base**attempt
        except OverflowError:
            delay = self.max_delay
        return min(delay * (0.5 + random.random()), self.max_delay)


class CircuitBreaker:
    """Prevent cascading failures with a circuit breaker around a function.

    `state` is "closed", "open" or "half-open"; `failure_count` counts failures since it was last reset.

    Args:
        failure_threshold: Failures that open it.
        recovery_timeout: Seconds after the last failure until one call is let through to see.
        expected_exception: What counts as a failure; anything else passes through uncounted.
    """

    def __init__(
        self,
        failure_threshold: int = 5,
        recovery_timeout: float = 60.0,
        expected_exception: type[BaseException] = APIError,
    ) -> None:
        self.failure_threshold = failure_threshold
        self.recovery_timeout = recovery_timeout
        self.expected_exception = expected_exception
        self.failure_count = 0
        self.last_failure_time: datetime | None = None
        self.state = "closed"
        self._probing = False

    async def call(self, func: Func[R], *args: Any, **kwargs: Any) -> R:
        """What ``func(*args, **kwargs)`` returns.

        Raises:
            ExecutionError: "Circuit breaker is open": `func` was not called.
            Exception: What `func` raised.
        """
        probe = self._admit()
        try:
            result = await func(*args, **kwargs)
        except self.expected_exception:
            self._record_failure()
            if probe or self.failure_count >= self.failure_threshold:
                self._trip()
            raise
        else:
            if probe:
                self._reset()
            return result
        finally:
            # A probe that was cancelled, or failed in another way, leaves its place to the next call.
            if probe:
                self._probing = False

    def _admit(self) -> bool:
        """Whether this call is the probe; raises where no call may go out."""
        if self.state == "open" and self._should_attempt_reset():
            self.state = "half-open"
        if self.state == "open" or (self.state == "half-open" and self._probing):
            raise ExecutionError(
                "Circuit breaker is open",
                context={"failure_count": self.failure_count},
                suggestion=f"Wait {self.recovery_timeout}s for recovery",
            )
        self._probing = self.state == "half-open"
        return self._probing

    def _should_attempt_reset(self) -> bool:
        waited = timedelta(seconds=self.recovery_timeout)
        return self.last_failure_time is not None and datetime.now() - self.last_failure_time >= waited  # noqa: DTZ005

    def _record_failure(self) -> None:
        self.failure_count += 1
        # Local time without a zone, as the seed's page has it: callers set and compare it so.
        self.last_failure_time = datetime.now()  # noqa: DTZ005

    def _reset(self) -> None:
        self.failure_count = 0
        self.last_failure_time = None
        self.state = "closed"

    def _trip(self) -> None:
        self.state = "open"
        logger.warning("Circuit breaker tripped after %s failures", self.failure_count)


class FallbackHandler:
    """Fallback strategies for agents: who stands in for whom.

    Args:
        fallback_map: Names of agents to try, in order, by the name of the agent they stand in for.
        agents: Agents by name; those registered in `orbiter.registry.agent_registry` if not given.
    """

    def __init__(self, fallback_map: Mapping[str, Sequence[str]], agents: Mapping[str, Any] | None = None) -> None:
        self.fallback_map = fallback_map
        self._agents = agents

    async def execute_with_fallback(
        self, primary_agent: str, task: str, context: Mapping[str, Any] | None = None
    ) -> Any:
        """The result of the first agent that succeeds. Agents that do not exist are passed over.

        Args:
            primary_agent: The agent to try first.
            task: What it shall do.
            context: For an Orbiter agent: `messages` and `provider` of the run; for any other, handed on as it is.

        Raises:
            ExecutionError: All failed, or none exists; the last error is its cause.
        """
        chain = [primary_agent, *self.fallback_map.get(primary_agent, ())]
        last: OrbiterError | None = None
        for name in dict.fromkeys(chain):
            agent = self._find(name)
            if agent is None:
                continue
            try:
                result = await _run(agent, task, context or {})
            except OrbiterError as exc:
                logger.warning("Agent %s failed: %s", name, exc.message)
                last = exc
                continue
            if name != primary_agent:
                logger.info("Fallback to %s succeeded", name)
            return result
        raise ExecutionError(
            f"All agents failed: {', '.join(chain)}",
            context={"last_error": str(last) if last else "no such agent"},
            suggestion="Consider revising the task or adding more fallback agents",
        ) from last

    def _find(self, name: str) -> Any:
        if self._agents is not None:
            return self._agents.get(name)
        try:
            return agent_registry.get(name)
        except RegistryError:
            return None


async def _run(agent: Any, task: str, context: Mapping[str, Any]) -> Any:
    # Here, not above: the runner and all that it needs is a lot for a module of small helpers.
    from orbiter.agent import Agent
    from orbiter.runner import run

    if isinstance(agent, Agent):
        return await run(agent, task, messages=context.get("messages"), provider=context.get("provider"))
    return await agent.run(task, context)


class Topology(Protocol):
    """What a recovery must know of who takes part."""

    def has_node(self, name: str) -> bool:
        """Whether somebody of that name takes part."""


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

        An answer that is no option aborts: what nobody chose is not done.

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
