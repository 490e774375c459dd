# ruff: noqa: G004, TRY400, RUF010, RET504, PT012 - the snippets stand as their authors wrote them
"""The snippets of the error-handling seeds that concern errors, tools and registries, as they stand there.

Only the imports differ where a snippet names another package, and `logger` and waits are given from outside.
"""

from __future__ import annotations

import json
import logging
import random
import traceback
from collections.abc import Callable
from datetime import datetime
from typing import Any, Dict, List  # noqa: UP035 - as the snippets write them

import pytest
from pydantic import BaseModel

from orbiter._internal.graph import GraphError
from orbiter._internal.output_parser import OutputParseError, parse_structured_output, parse_tool_arguments
from orbiter.errors import (
    AgentFrameworkError,
    AgentPermissionError,
    APIError,
    ExecutionError,
    MarsysError,
    MessageFormatError,
    ModelError,
    PermissionError,  # noqa: A004 - seed 003 names it so
    RateLimitError,
    TimeoutError,  # noqa: A004 - seed 003 names it so
    ToolCallError,
    ToolExecutionError,
    ValidationError,
)
from orbiter.hooks import HookManager, HookPoint
from orbiter.registry import Registry, RegistryError
from orbiter.tool import FunctionTool, ToolError, tool
from orbiter.types import OrbiterError, ToolCall

logger = logging.getLogger(__name__)


# --- seed 000 --------------------------------------------------------------------------------------------------------


class DatabaseError(Exception):
    """The driver's."""


async def test_best_practice_in_tools() -> None:
    class Db:
        async def execute(self, sql: str) -> list[int]:
            if "drop" in sql:
                raise DatabaseError("not allowed")
            return [1]

    db = Db()

    @tool
    async def query_database(sql: str) -> str:
        """Execute a SQL query."""
        try:
            result = await db.execute(sql)
            return str(result)
        except DatabaseError as e:
            # Raise ToolError with context -- this becomes ToolResult(error=...)
            raise ToolError(f"Database query failed: {e}") from e

    assert isinstance(query_database, FunctionTool)
    assert query_database.description == "Execute a SQL query."
    assert await query_database.execute(sql="select 1") == "[1]"
    with pytest.raises(ToolError) as caught:
        await query_database.execute(sql="drop")
    assert str(caught.value) == "Database query failed: not allowed"
    assert isinstance(caught.value.__cause__, DatabaseError)


async def test_best_practice_in_hooks() -> None:
    async def validate_tool_call(agent, tool_name, arguments):  # type: ignore[no-untyped-def]  # noqa: ANN202
        """Hook that validates tool calls before execution."""
        if tool_name == "delete_all" and not arguments.get("confirm"):
            # Raising in a hook aborts the operation
            raise ValueError("delete_all requires confirm=True")

    manager = HookManager()
    manager.add(HookPoint.PRE_TOOL_CALL, validate_tool_call)
    call: dict[str, Any] = {"agent": "admin", "tool_name": "delete_all", "tool_call_id": "c1", "run_id": "r"}
    with pytest.raises(ValueError, match=r"^delete_all requires confirm=True$"):
        await manager.run(HookPoint.PRE_TOOL_CALL, arguments={}, **call)
    await manager.run(HookPoint.PRE_TOOL_CALL, arguments={"confirm": True}, **call)


async def test_exception_chaining() -> None:
    @tool
    async def fragile() -> str:
        raise ConnectionError("reset")

    with pytest.raises(OrbiterError) as caught:
        try:
            await fragile._fn()
        except Exception as e:
            raise ToolExecutionError(fragile.name, e) from e  # preserves original traceback
    assert isinstance(caught.value, ToolError)
    assert "ConnectionError: reset" in "".join(traceback.format_exception(caught.value))


def test_registry_and_parser_texts() -> None:
    tool_registry: Registry[int] = Registry("tool_registry")
    tool_registry.register("search", 1)
    with pytest.raises(RegistryError, match=r"^'search' is already registered in tool_registry$"):
        tool_registry.register("search", 1)
    with pytest.raises(OutputParseError, match="Invalid JSON in arguments for tool 'search': Expecting value: line 1"):
        parse_tool_arguments([ToolCall(id="1", name="search", arguments="x")])

    class ResearchReport(BaseModel):
        title: str

    with pytest.raises(OutputParseError, match="Structured output failed ResearchReport validation: "):
        parse_structured_output("{}", ResearchReport)


def test_catching_orbiter_error_catches_everything_but_graph_errors() -> None:
    assert not issubclass(GraphError, OrbiterError)
    for kind in (ToolError, RegistryError, OutputParseError, ModelError, MarsysError):
        assert issubclass(kind, OrbiterError)


# --- seed 003 --------------------------------------------------------------------------------------------------------


class Agent:
    """Raises what it is given, then succeeds."""

    def __init__(self, *errors: BaseException) -> None:
        self.errors = list(errors)
        self.tasks: list[Any] = []

    async def run(self, task: Any, context: Any) -> str:
        self.tasks.append(task)
        if self.errors:
            raise self.errors.pop(0)
        return "done"


class Naps:
    """Stands in for asyncio, and remembers how long it was told to sleep."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)


asyncio = Naps()


@pytest.fixture(autouse=True)
def _fresh_naps() -> None:
    asyncio.slept.clear()


def correct_validation_issues(task: str, e: ValidationError) -> str:
    return f"{task} ({e.suggestion})"


async def route_to_user_for_permission(e: AgentPermissionError, context: dict[str, Any]) -> str:
    return "asked"


async def execute_agent_task(agent: Agent, task: Any, context: dict[str, Any]) -> Any:
    """Execute task with comprehensive error handling."""
    try:
        result = await agent.run(task, context)
        return result
    except ValidationError as e:
        # Handle validation errors
        logger.warning(f"Validation error: {e.message}")
        if e.suggestion:
            logger.info(f"Suggestion: {e.suggestion}")
        # Try with corrected input
        corrected_task = correct_validation_issues(task, e)
        return await agent.run(corrected_task, context)
    except RateLimitError as e:
        # Handle rate limits with backoff
        wait_time = e.context.get("retry_after", 60)
        logger.info(f"Rate limited. Waiting {wait_time}s...")
        await asyncio.sleep(wait_time)
        return await execute_agent_task(agent, task, context)
    except AgentPermissionError as e:
        # Route to user for permission
        if context.get("user_recovery"):
            return await route_to_user_for_permission(e, context)
        raise
    except TimeoutError as e:
        # Handle timeout with retry or cancellation
        if e.recoverable and context.get("retry_count", 0) < 3:
            context["retry_count"] = context.get("retry_count", 0) + 1
            return await execute_agent_task(agent, task, context)
        raise
    except ToolCallError as e:
        # Tool call format errors - need steering, not blind retries
        logger.warning(f"Tool call format error: {e}")
        # Let the steering system guide the agent to fix the tool call
        raise
    except MarsysError as e:
        # Log framework errors
        logger.error(f"Framework error: {e.to_dict()}")
        raise
    except Exception as e:
        # Wrap unexpected errors
        wrapped = ExecutionError(
            f"Unexpected error: {str(e)}", context={"original_error": str(e), "type": type(e).__name__}
        )
        logger.error(f"Unexpected error: {wrapped.to_dict()}")
        raise wrapped  # noqa: B904


async def test_try_catch_with_context() -> None:
    fixed = Agent(ValidationError("bad", suggestion="add a year"))
    assert await execute_agent_task(fixed, "t", {}) == "done"
    assert fixed.tasks == ["t", "t (add a year)"]
    limited = Agent(RateLimitError("slow", context={"retry_after": 7}), RateLimitError("slow"))
    assert await execute_agent_task(limited, "t", {}) == "done"
    assert asyncio.slept == [7, 60]
    denied = AgentPermissionError("denied")
    assert await execute_agent_task(Agent(denied), "t", {"user_recovery": True}) == "asked"
    with pytest.raises(PermissionError):
        await execute_agent_task(Agent(denied), "t", {})
    late = [TimeoutError("late", recoverable=True) for _ in range(3)]
    assert await execute_agent_task(Agent(*late), "t", {}) == "done"
    with pytest.raises(TimeoutError):
        await execute_agent_task(Agent(TimeoutError("late")), "t", {})
    with pytest.raises(ToolCallError):
        await execute_agent_task(Agent(ToolCallError("malformed")), "t", {})
    with pytest.raises(ModelError):
        await execute_agent_task(Agent(ModelError("down", model="m")), "t", {})
    with pytest.raises(ExecutionError, match="Unexpected error: odd") as caught:
        await execute_agent_task(Agent(LookupError("odd")), "t", {})
    assert caught.value.context == {"original_error": "odd", "type": "LookupError"}


class RetryHandler:
    """Intelligent retry with exponential backoff."""

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

    async def execute_with_retry(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Execute function with retry logic."""
        last_exception: Exception | None = None
        for attempt in range(self.max_retries):
            try:
                return await func(*args, **kwargs)
            except RateLimitError as e:
                # Use API-provided retry delay if available
                delay = e.context.get("retry_after", self._calculate_delay(attempt))
                logger.info(f"Rate limited. Retry {attempt + 1}/{self.max_retries} in {delay}s")
                await asyncio.sleep(delay)
                last_exception = e
            except TimeoutError as e:
                if not e.recoverable:
                    raise
                delay = self._calculate_delay(attempt)
                await asyncio.sleep(delay)
                last_exception = e
            except APIError as e:
                if e.context.get("status_code") in [500, 502, 503, 504]:
                    delay = self._calculate_delay(attempt)
                    await asyncio.sleep(delay)
                    last_exception = e
                else:
                    raise
            except Exception:
                # Don't retry unexpected errors
                raise
        # Max retries exceeded
        raise ExecutionError(
            f"Max retries ({self.max_retries}) exceeded",
            context={"last_error": str(last_exception)},
            suggestion="Consider increasing timeout or using a different approach",
        )

    def _calculate_delay(self, attempt: int) -> float:
        """Calculate exponential backoff delay."""
        delay = self.base_delay * (self.exponential_base**attempt)
        # Add jitter
        delay = delay * (0.5 + random.random())
        return min(delay, self.max_delay)


async def test_manual_retry_with_exponential_backoff() -> None:
    handler = RetryHandler()
    agent = Agent(RateLimitError("slow", retry_after=5), APIError("down", context={"status_code": 503}))
    assert await handler.execute_with_retry(agent.run, "t", None) == "done"
    assert asyncio.slept[0] == 5
    assert 1.0 <= asyncio.slept[1] <= 3.0
    with pytest.raises(ExecutionError, match=r"^Max retries \(3\) exceeded$") as spent:
        await handler.execute_with_retry(Agent(*[RateLimitError("slow", retry_after=1)] * 3).run, "t", None)
    assert spent.value.context == {"last_error": "slow"}
    assert spent.value.suggestion == "Consider increasing timeout or using a different approach"
    with pytest.raises(APIError):
        await handler.execute_with_retry(Agent(APIError("bad", status_code=400)).run, "t", None)


class CircuitBreaker:
    """Prevent cascading failures with circuit breaker."""

    def __init__(
        self, failure_threshold: int = 5, recovery_timeout: float = 60.0, expected_exception: type[Exception] = APIError
    ) -> None:
        self.failure_threshold = failure_threshold
        self.recovery_timeout = recovery_timeout
        self.expected_exception = expected_exception
        self.failure_count = 0
        self.last_failure_time: datetime | None = None
        self.state = "closed"  # closed, open, half-open

    async def call(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Execute function with circuit breaker protection."""
        # Check circuit state
        if self.state == "open":
            raise ExecutionError(
                "Circuit breaker is open",
                context={"failure_count": self.failure_count},
                suggestion=f"Wait {self.recovery_timeout}s for recovery",
            )
        # Execute function
        try:
            return await func(*args, **kwargs)
        except self.expected_exception:
            self.failure_count += 1
            if self.failure_count >= self.failure_threshold:
                self.state = "open"
            raise


async def test_circuit_breaker_pattern() -> None:
    breaker = CircuitBreaker(failure_threshold=2)
    agent = Agent(APIError("1"), RateLimitError("2"))
    for _ in range(2):
        with pytest.raises(APIError):
            await breaker.call(agent.run, "t", None)
    with pytest.raises(ExecutionError, match="Circuit breaker is open") as caught:
        await breaker.call(agent.run, "t", None)
    assert caught.value.suggestion == "Wait 60.0s for recovery"


def get_recovery_options(error: MarsysError) -> List[str]:  # noqa: UP006
    """Get recovery options based on error type."""
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


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (ModelError("m"), ["Abort execution"]),
        (RateLimitError("r"), ["Wait and retry", "Retry operation", "Abort execution"]),
        (AgentPermissionError("p"), ["Grant permission", "Abort execution"]),
        (MessageFormatError("f", recoverable=True), ["Provide corrected input", "Retry operation", "Abort execution"]),
    ],
)
def test_user_driven_recovery(error: MarsysError, options: list[str]) -> None:
    assert get_recovery_options(error) == options


async def test_fallback_strategies() -> None:
    registry: Dict[str, Agent] = {"a": Agent(ModelError("down")), "b": Agent(MarsysError("too"))}  # noqa: UP006
    agents_to_try = ["a", "b"]

    async def execute_with_fallback() -> Any:
        for agent_name in agents_to_try:
            try:
                return await registry[agent_name].run("t", {})
            except MarsysError as e:
                logger.warning(f"Agent {agent_name} failed: {e.message}")
                if agent_name == agents_to_try[-1]:
                    # No more fallbacks
                    raise ExecutionError(  # noqa: B904
                        f"All agents failed: {', '.join(agents_to_try)}",
                        context={"last_error": str(e)},
                        suggestion="Consider revising the task or adding more fallback agents",
                    )
        return None

    with pytest.raises(ExecutionError, match="All agents failed: a, b") as caught:
        await execute_with_fallback()
    assert caught.value.context == {"last_error": "too"}
    assert await execute_with_fallback() == "done"


def test_best_practices() -> None:
    response = "not json" * 50
    with pytest.raises(MarsysError) as specific:
        raise MessageFormatError(
            "Invalid JSON in model response",
            context={"response": response[:200], "expected": "JSON object with 'next_action' field"},
            suggestion="Ensure model is prompted to return valid JSON",
            recoverable=True,
        )
    assert json.loads(json.dumps(specific.value.to_dict()))["recoverable"] is True
    with pytest.raises(APIError) as limited:
        raise RateLimitError(
            "OpenAI API rate limit exceeded",
            context={"limit": "10000 tokens/min", "used": "10500 tokens", "retry_after": 60},
            suggestion="Wait 60 seconds or use a different API key",
            recoverable=True,
        )
    assert limited.value.context["retry_after"] == 60
    with pytest.raises(ValidationError) as chained:
        try:
            int("x")
        except ValueError as e:
            raise ValidationError(
                f"Operation failed: {str(e)}",
                context={"original_error": str(e), "traceback": traceback.format_exc()},
            ) from e
    assert isinstance(chained.value.__cause__, ValueError)
    assert "ValueError" in chained.value.context["traceback"]
    assert AgentFrameworkError is MarsysError
