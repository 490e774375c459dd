"""Seed 003: what `run()` raises is what the seed's ``except`` clauses catch (ids: findings, number 11).

Both SDKs ask a real HTTP server on loopback; the handlers of the seed stand around agents of ours.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic import BaseModel

from orbiter import Agent, run
from orbiter.compat.recovery_handlers import CircuitBreaker, FallbackHandler, RetryHandler, UserRecoveryHandler
from orbiter.errors import (
    AgentConfigurationError,
    AgentError,
    AgentFrameworkError,
    AgentPermissionError,
    APIError,
    CallRunnerError,
    ConfigurationError,
    ExecutionError,
    MarsysError,
    MessageFormatError,
    ModelAPIError,
    ModelError,
    ModelRateLimitError,
    OrbiterError,
    OutputParseError,
    RateLimitError,
    TimeoutError,  # noqa: A004 - seed 003 names it so
    ValidationError,
)
from orbiter.models import get_provider
from orbiter.models.scripted.provider import script
from runtime.execution.gates.invocation import InvocationDenied
from tests.orbiter.engine_fakes import skip_waits
from tests.orbiter.models.loopback import Answer, Loopback, Says

KEY = "sk-test-0123456789abcdef"
Ask = Callable[..., Awaitable[str]]


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What is waited, without waiting: between a run's attempts and by the seed's `RetryHandler`."""
    return skip_waits(monkeypatch, "orbiter.compat.retry_handler.sleep")


@pytest.fixture(params=["run", "stream"])
def ask(request: pytest.FixtureRequest, says: Says, server: Loopback) -> Ask:
    """Runs an agent against the server, whole or as a stream, and returns what it says."""

    async def run_it(task: str = "hello", *, max_retries: int = 1, **options: Any) -> str:
        settings = {"connect_timeout": 5, "first_token_timeout": 20, "total_timeout": 20, **options}
        provider = get_provider(f"{says.name}:{says.model}", api_key=KEY, base_url=says.base(server.url), **settings)
        agent = Agent(name="clerk", model=f"{says.name}:{says.model}")
        if request.param == "run":
            return (await run(agent, task, provider=provider, max_retries=max_retries)).output
        events = run.stream(agent, task, provider=provider, max_retries=max_retries)
        return "".join([getattr(event, "text", "") async for event in events])

    run_it.streams = request.param == "stream"  # type: ignore[attr-defined]
    return run_it


def error(says: Says, status: int, kind: str, text: str, code: str | None = None, **headers: str) -> Answer:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status=status, headers=sent, body=json.dumps(says.error(kind, text, code)))


def good(says: Says, ask: Ask, text: str = "Hello you") -> Answer:
    if ask.streams:  # type: ignore[attr-defined]
        return Answer(pieces=says.stream(text))
    return Answer(body=says.whole(text))


async def caught_from(ask: Ask, **options: Any) -> Any:
    with pytest.raises(AgentError) as caught:
        await ask(**options)
    return caught.value


# -- classes and facts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "row",
    [
        (429, "rate_limit_error", "rate_limit", True, ModelRateLimitError),
        (500, "api_error", "server_error", True, ModelAPIError),
        (502, "api_error", "server_error", True, ModelAPIError),
        (503, "", "service_unavailable", True, ModelAPIError),
        (529, "overloaded_error", "service_unavailable", True, ModelAPIError),
        (400, "invalid_request_error", "invalid_request", False, ModelAPIError),
        (401, "authentication_error", "authentication_failed", False, ModelAPIError),
        (402, "", "insufficient_credits", False, ModelAPIError),
        (403, "permission_error", "permission_denied", False, ModelAPIError),
        (404, "not_found_error", "invalid_model", False, ModelAPIError),
        (413, "request_too_large", "request_too_large", False, ModelAPIError),
    ],
    ids=lambda row: str(row[0]),
)
async def test_11_the_error_of_run_is_of_all_classes_of_both_seeds(
    ask: Ask, says: Says, server: Loopback, row: tuple[int, str, str, bool, type]
) -> None:
    status, kind, classification, recoverable, leaf = row
    server.answers = [error(says, status, kind, "no")]
    found = await caught_from(ask)
    seed_000 = (CallRunnerError, AgentError, OrbiterError, ModelError)
    for each in (*seed_000, MarsysError, AgentFrameworkError, APIError, leaf):
        assert isinstance(found, each), each
    assert isinstance(found, RateLimitError) is (status == 429)
    assert found.context["status_code"] == found.status_code == status
    assert found.context["provider"] == says.name
    assert (found.classification, found.recoverable, found.is_retryable) == (classification, recoverable, recoverable)
    assert found.error_code == (kind or "CallRunnerError")
    assert found.suggestion
    wrapped = found.__cause__
    assert isinstance(wrapped, AgentError)
    assert type(wrapped.__cause__) is leaf
    told = found.to_dict()
    assert (told["recoverable"], told["suggestion"]) == (recoverable, found.suggestion)


@pytest.mark.parametrize("vague", ["api_error", "server_error"])
@pytest.mark.parametrize(
    "row",
    [(429, "rate_limit", True), (401, "authentication_failed", False), (503, "service_unavailable", True)],
    ids=lambda row: str(row[0]),
)
async def test_11_a_word_that_any_failure_gets_says_less_than_the_status(
    ask: Ask, says: Says, server: Loopback, row: tuple[int, str, bool], vague: str
) -> None:
    status, classification, recoverable = row
    server.answers = [error(says, status, vague, "no")]
    found = await caught_from(ask)
    assert (found.classification, found.recoverable) == (classification, recoverable)
    assert isinstance(found, RateLimitError) is (status == 429)


async def test_each_retry_of_a_run_without_a_runtime_is_logged_in_the_seeds_words(
    ask: Ask, says: Says, server: Loopback, caplog: pytest.LogCaptureFixture
) -> None:
    server.answers = [
        error(says, 503, "api_error", "Down"),
        error(says, 429, "rate_limit_error", "Slow down"),
        good(says, ask),
    ]
    with caplog.at_level("INFO", "orbiter"):
        await ask(max_retries=3)
    assert [(each.levelname, each.getMessage()) for each in caplog.records if each.name == "orbiter"] == [
        ("WARNING", f"Server error 503 from {says.model}. Retry 1/2 after 1.0s"),
        ("WARNING", f"Rate limit 429 from {says.model}. Retry 2/2 after 2.0s"),
        ("INFO", "Request successful after 2 retries"),
    ]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError("late"), "Timeout"),
        (ConnectionResetError("reset"), "Connection error"),
        (LookupError("odd"), "LookupError"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_retry_is_logged_by_the_kind_of_its_error(
    error: Exception, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing:
        async def complete(self, *_: Any, **__: Any) -> Any:
            raise error

    with caplog.at_level("INFO", "orbiter"), pytest.raises(AgentError):
        await run(Agent(name="clerk"), "hello", provider=Failing(), max_retries=2)
    (line,) = [each.getMessage() for each in caplog.records if each.name == "orbiter"]
    assert line == f"{said} from gpt-4o. Retry 1/1 after 1.0s"


async def test_11_a_rate_limit_says_how_long_to_wait(ask: Ask, says: Says, server: Loopback) -> None:
    server.answers = [error(says, 429, "rate_limit_error", "Slow down", retry_after="7")]
    with pytest.raises(RateLimitError) as caught:
        await ask()
    e: Any = caught.value
    assert e.context.get("retry_after", 60) == 7
    assert e.recoverable
    assert e.suggestion == "Wait 7 s or use a different API key."
    assert e.error_code == "rate_limit_error"


async def test_11_a_spent_quota_is_no_rate_limit_to_wait_for(ask: Ask, says: Says, server: Loopback) -> None:
    server.answers = [error(says, 429, "insufficient_quota", "You exceeded your current quota", "insufficient_quota")]
    found = await caught_from(ask)
    assert isinstance(found, ModelAPIError)
    assert not isinstance(found, RateLimitError)
    assert (found.classification, found.recoverable) == ("insufficient_credits", False)


@pytest.mark.parametrize("words", ["request_too_large", "payload too large", "request exceeds the maximum size"])
async def test_11_a_payload_too_large_is_known_by_its_words(ask: Ask, says: Says, server: Loopback, words: str) -> None:
    server.answers = [error(says, 400, "invalid_request_error", f"Refused: {words}")]
    with pytest.raises(ModelAPIError) as caught:
        await ask()
    e: Any = caught.value
    assert e.classification == "request_too_large"


async def test_11_a_time_out_is_the_seeds_and_recoverable(ask: Ask, says: Says, server: Loopback) -> None:
    server.answers = [Answer(then="hang")]
    with pytest.raises(TimeoutError) as caught:
        await ask(first_token_timeout=0.2, total_timeout=0.2, silence_timeout=0.2)
    e: Any = caught.value
    assert e.recoverable
    assert e.context["timeout_seconds"] == 0.2
    assert isinstance(e, AgentError)


async def test_11_a_connection_that_breaks_is_an_api_error(ask: Ask, says: Says, server: Loopback) -> None:
    server.answers = [Answer(then="reset")]
    with pytest.raises(APIError) as caught:
        await ask()
    e: Any = caught.value
    assert (e.classification, e.recoverable) == ("network_error", True)


async def test_11_an_error_without_words_is_named_by_itself(says: Says) -> None:
    class Down:
        async def complete(self, *_: Any, **__: Any) -> Any:
            raise ConnectionError

    with pytest.raises(ConnectionError) as caught:
        await run(Agent(name="clerk"), "hello", provider=Down(), max_retries=1)
    assert str(caught.value).endswith("failed after 1 retries: ConnectionError()")


# -- the seed's handlers around an agent -------------------------------------------------------------------------------


async def execute_agent_task(ask: Ask, task: str) -> str:
    """The seed's "Try-Catch with Context", as far as a model is concerned."""
    try:
        return await ask(task)
    except RateLimitError as e:
        wait_time = e.context.get("retry_after", 60)
        await asyncio.sleep(0 * wait_time)
        return await execute_agent_task(ask, task)
    except MarsysError as e:
        raise ExecutionError(f"Unexpected error: {e!s}", context={"original_error": e.to_dict()}) from e


async def test_11_the_seeds_try_catch_heals_a_rate_limit(ask: Ask, says: Says, server: Loopback) -> None:
    server.answers = [error(says, 429, "rate_limit_error", "Slow", retry_after="2"), good(says, ask)]
    assert await execute_agent_task(ask, "x") == "Hello you"


async def test_11_retry_handler_waits_as_the_server_says(
    ask: Ask, says: Says, server: Loopback, waits: list[float]
) -> None:
    server.answers = [error(says, 429, "rate_limit_error", "Slow", retry_after="7"), good(says, ask)]
    assert await RetryHandler(max_retries=3).execute_with_retry(ask, "x") == "Hello you"
    assert waits == [7.0]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_11_retry_handler_repeats_server_errors(ask: Ask, says: Says, server: Loopback, status: int) -> None:
    server.answers = [error(says, status, "api_error", "Down"), good(says, ask)]
    assert await RetryHandler(max_retries=3).execute_with_retry(ask, "x") == "Hello you"
    assert len(server.asked) == 2


async def test_11_retry_handler_gives_up_with_the_last_error(ask: Ask, says: Says, server: Loopback) -> None:
    server.answers = [error(says, 503, "api_error", "Down")]
    with pytest.raises(ExecutionError, match=r"Max retries \(3\) exceeded") as caught:
        await RetryHandler(max_retries=3).execute_with_retry(ask, "x")
    assert len(server.asked) == 3
    assert isinstance(caught.value.__cause__, AgentError)


async def test_11_retry_handler_repeats_a_time_out(ask: Ask, says: Says, server: Loopback) -> None:
    """Only the first call has a short limit: a good answer may take its time on a busy machine."""
    server.answers = [Answer(then="hang")]
    limits = [0.5]

    async def asked(task: str) -> str:
        if not limits:
            server.answers = [good(says, ask)]
            return await ask(task)
        limit = limits.pop()
        return await ask(task, first_token_timeout=limit, total_timeout=limit, silence_timeout=limit)

    assert await RetryHandler(max_retries=2).execute_with_retry(asked, "x") == "Hello you"


async def test_11_retry_handler_does_not_repeat_a_bad_key(ask: Ask, says: Says, server: Loopback) -> None:
    server.answers = [error(says, 401, "authentication_error", "Bad key")]
    with pytest.raises(ModelAPIError):
        await RetryHandler(max_retries=3).execute_with_retry(ask, "x")
    assert len(server.asked) == 1


async def test_11_circuit_breaker_opens_after_failures_of_an_agent(ask: Ask, says: Says, server: Loopback) -> None:
    server.answers = [error(says, 503, "api_error", "Down")]
    breaker = CircuitBreaker(failure_threshold=2, expected_exception=APIError)
    for _ in range(2):
        with pytest.raises(APIError):
            await breaker.call(ask, "x")
    assert (breaker.state, breaker.failure_count) == ("open", 2)
    with pytest.raises(ExecutionError, match="Circuit breaker is open"):
        await breaker.call(ask, "x")
    assert len(server.asked) == 2


async def test_11_fallback_handler_goes_to_the_next_agent(says: Says, server: Loopback) -> None:
    server.answers = [error(says, 401, "authentication_error", "Bad key"), Answer(body=says.whole("From the second"))]
    provider = get_provider(f"{says.name}:{says.model}", api_key=KEY, base_url=says.base(server.url))
    agents = {name: Agent(name=name, model=f"{says.name}:{says.model}") for name in ("first", "second")}
    handler = FallbackHandler({"first": ["second"]}, agents)
    result = await handler.execute_with_fallback("first", "x", {"provider": provider})
    assert (result.output, result.agent) == ("From the second", "second")


class _WithUser:
    def has_node(self, name: str) -> bool:
        return name == "User"


@pytest.mark.parametrize(
    ("status", "first"), [(429, "Wait and retry"), (503, "Retry operation"), (401, "Abort execution")]
)
async def test_11_user_recovery_offers_what_the_error_allows(
    ask: Ask, says: Says, server: Loopback, status: int, first: str
) -> None:
    server.answers = [error(says, status, "", "no")]
    found = await caught_from(ask)
    prompts: list[str] = []

    async def user(prompt: str) -> str:
        prompts.append(prompt)
        return "1"

    handler = UserRecoveryHandler(user)
    if first == "Abort execution":
        with pytest.raises(ModelAPIError):
            await handler.handle_error_with_user(found, {}, _WithUser())
    else:
        assert await handler.handle_error_with_user(found, {}, _WithUser()) == first
    assert f"1. {first}" in prompts[0]
    assert f"Suggestion: {found.suggestion}" in prompts[0]


# -- classes that the framework itself raises --------------------------------------------------------------------------


def test_4_4_the_set_up_of_an_agent_raises_the_classes_of_both_seeds() -> None:
    with pytest.raises(AgentConfigurationError, match="max_steps") as caught:
        Agent(name="clerk", max_steps=0)
    assert isinstance(caught.value, AgentError)
    assert isinstance(caught.value, ConfigurationError)


class _Total(BaseModel):
    amount: int


@pytest.mark.parametrize("streaming", [False, True], ids=["run", "stream"])
async def test_4_4_output_that_cannot_be_read_raises_the_classes_of_both_seeds(streaming: bool) -> None:
    script("seed003/words", lambda messages, tools: "many")
    agent = Agent(name="clerk", model="scripted:seed003/words", output_type=_Total)

    async def go() -> None:
        if streaming:
            async for _ in run.stream(agent, "go", max_retries=1):
                pass
        else:
            await run(agent, "go", max_retries=1)

    with pytest.raises(MessageFormatError) as caught:
        await go()
    for each in (CallRunnerError, OutputParseError, ValidationError):
        assert isinstance(caught.value, each), each
    assert caught.value.context["raw"] == "many"


def test_4_4_a_denied_invocation_is_of_the_seeds_class() -> None:
    denied = InvocationDenied("not you", target_agent="closer")
    assert isinstance(denied, AgentPermissionError)
    assert (str(denied), denied.target_agent) == ("not you", "closer")
