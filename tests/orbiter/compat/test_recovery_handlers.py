"""Seed 003's helper classes, by name, behaviour and message."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest

from orbiter.agent import Agent
from orbiter.compat.recovery_handlers import (
    CircuitBreaker,
    FallbackHandler,
    RetryHandler,
    UserRecoveryHandler,
)
from orbiter.errors import (
    APIError,
    ExecutionError,
    MarsysError,
    PermissionError,  # noqa: A004
    RateLimitError,
    TimeoutError,  # noqa: A004
    ValidationError,
)
from orbiter.models.types import ModelResponse
from orbiter.registry import agent_registry
from orbiter.types import Message


def failing(*failures: BaseException) -> Callable[..., Awaitable[str]]:
    """A function that raises each of `failures` once, then answers."""
    left = list(failures)

    async def func(*args: Any, **kwargs: Any) -> str:
        if left:
            raise left.pop(0)
        return f"done {args} {kwargs}"

    return func


# -- retry -----------------------------------------------------------------------------------------------------------


async def test_it_tries_again_and_says_so(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    handler = RetryHandler(base_delay=0.0)
    func = failing(
        RateLimitError("slow", context={"retry_after": 0}),
        APIError("down", context={"status_code": 503}),
    )
    assert await handler.execute_with_retry(func, 1, x=2) == "done (1,) {'x': 2}"
    assert caplog.messages == [
        "Rate limited. Retry 1/3 in 0.0s",
        "Server error (after adapter retries). Retry 2/3 in 0.0s",
    ]


async def test_time_outs_are_repeated_where_they_are_recoverable(caplog: pytest.LogCaptureFixture) -> None:
    handler = RetryHandler(base_delay=0.0)
    assert await handler.execute_with_retry(failing(TimeoutError("slow", recoverable=True))) == "done () {}"
    assert "Timeout. Retry 1/3 in 0.0s" in caplog.messages
    with pytest.raises(TimeoutError, match="slow"):
        await handler.execute_with_retry(failing(TimeoutError("slow")))


async def test_it_gives_up_after_the_last_attempt() -> None:
    handler = RetryHandler(max_retries=2, base_delay=0.0)
    func = failing(*(APIError("down", context={"status_code": 500}) for _ in range(3)))
    with pytest.raises(ExecutionError, match=r"Max retries \(2\) exceeded") as caught:
        await handler.execute_with_retry(func)
    assert caught.value.context["last_error"] == "down"
    assert caught.value.suggestion == "Consider increasing timeout or using a different approach"
    assert isinstance(caught.value.__cause__, APIError)


@pytest.mark.parametrize("exc", [APIError("no", context={"status_code": 400}), ValueError("odd"), ValidationError("x")])
async def test_what_no_repetition_heals_comes_back_at_once(exc: Exception) -> None:
    with pytest.raises(type(exc)) as caught:
        await RetryHandler().execute_with_retry(failing(exc))
    assert caught.value is exc


def test_delays_grow_with_jitter_under_the_cap() -> None:
    handler = RetryHandler(max_delay=5.0)
    for attempt in range(12):
        assert min(0.5 * 2**attempt, 5.0) <= handler._calculate_delay(attempt) <= min(1.5 * 2**attempt, 5.0)
    assert handler._calculate_delay(100_000) == pytest.approx(5.0, rel=0.5)


# -- breaker ---------------------------------------------------------------------------------------------------------


async def _trip(breaker: CircuitBreaker) -> None:
    for _ in range(breaker.failure_threshold):
        with pytest.raises(APIError):
            await breaker.call(failing(APIError("down")))


async def test_it_opens_after_five_failures(caplog: pytest.LogCaptureFixture) -> None:
    breaker = CircuitBreaker()
    await _trip(breaker)
    assert breaker.state == "open"
    assert "Circuit breaker tripped after 5 failures" in caplog.messages
    with pytest.raises(ExecutionError, match="Circuit breaker is open") as caught:
        await breaker.call(failing())
    assert caught.value.context["failure_count"] == 5
    assert caught.value.suggestion == "Wait 60.0s for recovery"


async def test_it_closes_after_a_success_when_its_time_has_come() -> None:
    breaker = CircuitBreaker()
    await _trip(breaker)
    breaker.last_failure_time = datetime.now() - timedelta(seconds=61)  # noqa: DTZ005 - as the seed does
    assert await breaker.call(failing()) == "done () {}"
    assert (breaker.state, breaker.failure_count) == ("closed", 0)


async def test_a_probe_that_fails_opens_it_again() -> None:
    breaker = CircuitBreaker(failure_threshold=1, recovery_timeout=0.0)
    await _trip(breaker)
    with pytest.raises(APIError):
        await breaker.call(failing(APIError("still down")))
    assert breaker.state == "open"


async def test_one_probe_at_a_time_and_a_cancelled_one_frees_its_place() -> None:
    breaker = CircuitBreaker(failure_threshold=1, recovery_timeout=0.0)
    await _trip(breaker)
    started = asyncio.Event()

    async def hangs() -> str:
        started.set()
        await asyncio.Event().wait()
        return ""

    probe = asyncio.create_task(breaker.call(hangs))
    await started.wait()
    with pytest.raises(ExecutionError, match="is open"):
        await breaker.call(failing())
    probe.cancel()
    with pytest.raises(asyncio.CancelledError):
        await probe
    assert await breaker.call(failing()) == "done () {}"
    assert breaker.state == "closed"


async def test_other_exceptions_do_not_count() -> None:
    breaker = CircuitBreaker(failure_threshold=1)
    with pytest.raises(ValueError, match="odd"):
        await breaker.call(failing(ValueError("odd")))
    assert (breaker.state, breaker.failure_count) == ("closed", 0)


# -- fallback --------------------------------------------------------------------------------------------------------


class _Agent:
    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer

    async def run(self, task: str, context: Mapping[str, Any]) -> str:
        if isinstance(self.answer, Exception):
            raise self.answer
        return f"{self.answer}: {task}"


async def test_another_agent_stands_in(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    agents = {"a": _Agent(APIError("down")), "c": _Agent("c")}
    handler = FallbackHandler({"a": ["missing", "c"]}, agents)
    assert await handler.execute_with_fallback("a", "count", {}) == "c: count"
    assert caplog.messages == ["Agent a failed: down", "Fallback to c succeeded"]


@pytest.mark.parametrize("agents", [{"a": _Agent(APIError("1")), "b": _Agent(APIError("2"))}, {}])
async def test_all_agents_may_fail(agents: dict[str, Any]) -> None:
    with pytest.raises(ExecutionError, match="All agents failed: a, b") as caught:
        await FallbackHandler({"a": ["b"]}, agents).execute_with_fallback("a", "count", {})
    assert caught.value.suggestion == "Consider revising the task or adding more fallback agents"
    assert caught.value.context["last_error"] == ("2" if agents else "no such agent")


class _Provider:
    async def complete(self, messages: list[Message], **_: Any) -> ModelResponse:
        return ModelResponse(content=f"heard {messages[-1].content}")


async def test_agents_of_the_framework_stand_in_by_their_registered_names() -> None:
    agent_registry.register("handlers-stand-in", Agent(name="stand-in", model="scripted:x"))
    handler = FallbackHandler({"handlers-unknown": ["handlers-stand-in"]})
    result = await handler.execute_with_fallback("handlers-unknown", "hello", {"provider": _Provider()})
    assert result.output == "heard hello"


async def test_a_mistake_in_an_agent_is_no_reason_to_ask_another() -> None:
    agents = {"a": _Agent(KeyError("bug")), "b": _Agent("b")}
    with pytest.raises(KeyError):
        await FallbackHandler({"a": ["b"]}, agents).execute_with_fallback("a", "count", {})


# -- asking the user -------------------------------------------------------------------------------------------------


class _Topology:
    def __init__(self, *names: str) -> None:
        self.names = names

    def has_node(self, name: str) -> bool:
        return name in self.names


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (MarsysError("x"), ["Abort execution"]),
        (MarsysError("x", recoverable=True), ["Retry operation", "Abort execution"]),
        (ValidationError("x"), ["Provide corrected input", "Abort execution"]),
        (
            ValidationError("x", recoverable=True),
            ["Provide corrected input", "Retry operation", "Abort execution"],
        ),
        (PermissionError("x"), ["Grant permission", "Abort execution"]),
        (RateLimitError("x"), ["Wait and retry", "Retry operation", "Abort execution"]),
    ],
)
def test_options_by_type(error: MarsysError, options: list[str]) -> None:
    assert UserRecoveryHandler()._get_recovery_options(error) == options


async def _recover(answer: str, error: MarsysError, **actions: Any) -> tuple[Any, str]:
    asked: list[str] = []

    async def ask(prompt: str) -> str:
        asked.append(prompt)
        return answer

    handler = UserRecoveryHandler(ask, {"Wait and retry": actions["wait"]} if actions else None)
    return await handler.handle_error_with_user(error, {}, _Topology("User")), asked[0]


async def test_the_user_is_asked_and_answers() -> None:
    error = RateLimitError("slow", suggestion="Use another key")
    chosen, prompt = await _recover("2", error)
    assert chosen == "Retry operation"
    assert prompt == (
        "\nRateLimitError: slow\nSuggestion: Use another key\nHow would you like to proceed?\n"
        "1. Wait and retry\n2. Retry operation\n3. Abort execution\n"
    )


@pytest.mark.parametrize("answer", ["retry", "Retry operation", "RETRY.", " 2 "])
async def test_answers_in_several_forms(answer: str) -> None:
    assert (await _recover(answer, RateLimitError("slow")))[0] == "Retry operation"


@pytest.mark.parametrize("answer", ["3", "abort", "", "what?", "9"])
async def test_anything_else_aborts(answer: str) -> None:
    error = RateLimitError("slow")
    with pytest.raises(RateLimitError) as caught:
        await _recover(answer, error)
    assert caught.value is error


async def test_an_action_is_carried_out() -> None:
    async def wait(error: MarsysError, context: Mapping[str, Any]) -> str:
        return f"waited for {error.message}"

    assert (await _recover("wait", RateLimitError("slow"), wait=wait))[0] == "waited for slow"


async def test_without_a_user_there_is_no_recovery() -> None:
    found = await UserRecoveryHandler().handle_error_with_user(MarsysError("x"), {}, _Topology("Agent"))
    assert found is None
