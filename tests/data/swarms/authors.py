"""Swarms whose authors judge their own failures, in the words of seeds 002 and 003."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from orbiter import Agent, tool
from orbiter.errors import PermissionError, RateLimitError, TimeoutError, ValidationError  # noqa: A004 - seed 003 names them so
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply, Turn
from orbiter.severity import ErrorClassification, ErrorSeverity
from orbiter.types import Message, ToolResult

EFFECTS = Path(os.environ.get("ORBITER_TEST_EFFECTS", os.devnull))


def effect(text: str) -> int:
    """Leave a line in the world; how often it stands there now."""
    with EFFECTS.open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")
    return EFFECTS.read_text(encoding="utf-8").split().count(text)


def user_of(used: Any) -> Agent:
    """An agent that calls the tool once and says what came of it."""

    def speak(messages: list[Message], tools: list[dict[str, Any]]) -> Turn:
        last = messages[-1]
        if isinstance(last, ToolResult):
            return f"told: {last.error or last.content}"
        return Reply(calls=[Call(used.name, {})])

    script(f"authors/{used.name}", speak)
    return Agent(name=f"user_of_{used.name}", model=f"scripted:authors/{used.name}", tools=[used])


def judged(exc: Exception, context: dict[str, Any]) -> ErrorClassification | None:
    """As seed 002's example has it."""
    if isinstance(exc, ConnectionError | TimeoutError):
        return ErrorClassification(
            severity=ErrorSeverity.RETRIABLE,
            user_message="Network timeout, retrying...",
            metadata={"technical_details": str(exc)},
        )
    if isinstance(exc, ValueError | TypeError):
        return ErrorClassification(
            severity=ErrorSeverity.CRITICAL,
            user_message="Configuration error",
            metadata={
                "technical_details": str(exc),
                "safety_abort_reason": f"Configuration validation failed: {exc}",
                "suggestions": ["Check configuration parameters", "Verify required fields"],
            },
        )
    return None


SUCCEEDS_AT = 3


def quick() -> dict[str, Any]:
    """Seed 002's policy, with shorter waits."""
    return {"max_attempts": 3, "delay_seconds": 0.01, "backoff_factor": 1.0}


@tool(classify_error=judged, retry_policy=quick)
def flaky() -> str:
    """Reads a sensor; the third call gets through."""
    if effect("flaky") < SUCCEEDS_AT:
        raise ConnectionError("reset by peer")
    return "21 degrees"


@tool(classify_error=judged, retry_policy=quick)
def lost() -> str:
    """Reads a sensor that is never there."""
    effect("lost")
    raise ConnectionError("reset by peer")


@tool(classify_error=judged, retry_policy=quick, failure="continue")
def shrugged() -> str:
    """As `lost`, and the model is to be told."""
    effect("shrugged")
    raise ConnectionError("reset by peer")


@tool(classify_error=judged)
def misconfigured() -> str:
    """Has a wrong parameter."""
    raise ValueError("parameter 'gain' is -1")


@tool(failure="fail")
def limited() -> str:
    """Meets a limit of its own service, with all that seed 003 attaches."""
    raise RateLimitError(
        "OpenAI API rate limit exceeded",
        context={
            "limit": "10000 tokens/min",
            "used": "10500 tokens",
            "retry_after": 600,
            "api_key": "sk-abcdef0123456789abcdef0123456789",
        },
        suggestion="Wait 60 seconds or use a different API key",
        recoverable=True,
    )


@tool
def unjudged() -> str:
    """Says nothing of its failure; its agent does."""
    effect("unjudged")
    raise ConnectionError("reset by peer")


unjudged_user = Agent(name="judge", model=user_of(unjudged).model, tools=[unjudged], classify_error=judged)
flaky_user, lost_user, shrugged_user = user_of(flaky), user_of(lost), user_of(shrugged)
misconfigured_user, limited_user = user_of(misconfigured), user_of(limited)


# -- seed 003: labels by cause ---------------------------------------------------------------------------------------


@tool(failure="fail")
def strict(amount: str = "many") -> str:
    """Takes a number, as text."""
    if effect(f"strict:{amount}") and not amount.isdigit():
        raise ValidationError("amount must be a number", context={"field": "amount"})
    return f"{amount} it is"


@tool(failure="fail")
def retryable() -> str:
    """Refuses its arguments, and says that the same may succeed."""
    raise ValidationError("the ledger is being rebuilt", recoverable=True)


@tool(failure="fail", idempotent=True)
def final() -> str:
    """Times out, and says that this is for good."""
    effect("final")
    raise TimeoutError("no such station", recoverable=False)


@tool(failure="fail")
def locked() -> str:
    """Meets a lock of the system, which names no permission."""
    raise PermissionError("the door is locked")


strict_user, retryable_user, final_user, locked_user = (
    user_of(strict),
    user_of(retryable),
    user_of(final),
    user_of(locked),
)


def _throttled(context: Any) -> str:
    if effect("instructions") == 1:
        raise RateLimitError("busy", retry_after=0.05)
    return "Be brief."


def _demanding(context: Any) -> str:
    if effect("instructions") == 1:
        raise ValidationError("the task names no city")
    return "Be brief."


script("authors/echo", lambda messages, tools: f"heard: {messages[-1].content}")
throttled_agent = Agent(name="throttled_agent", model="scripted:authors/echo", instructions=_throttled)
demanding_agent = Agent(name="demanding_agent", model="scripted:authors/echo", instructions=_demanding)
