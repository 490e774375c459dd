"""Swarms whose failures heal, or end, without a person: fallbacks, compaction, other plans, policies, budgets."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from orbiter import Agent, ParallelGroup, Swarm, tool
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import (
    Call,
    Fault,
    Reply,
    Turn,
)
from orbiter.severity import ErrorClassification, ErrorSeverity
from orbiter.types import Message, ToolResult, Usage, UserMessage, content_text


def effect(text: str) -> None:
    with Path(os.environ["ORBITER_TEST_EFFECTS"]).open("a", encoding="utf-8") as world:
        world.write(f"{text}\n")


def says(name: str, what: Any) -> None:
    """A script that leaves a line in the world for every question."""

    def asked(speak: Callable[[list[Message]], Turn]) -> Callable[[list[Message], list[dict[str, Any]]], Turn]:
        def speaker(messages: list[Message], tools: list[dict[str, Any]]) -> Turn:
            effect(f"ask {name}")
            return speak(messages)

        return speaker

    script(f"repair/{name}", asked(what if callable(what) else lambda _: what))


def agent(name: str, model: str = "", *tools: object, **more: object) -> Agent:
    return Agent(name=name, model=f"scripted:repair/{model or name}", tools=list(tools), **more)  # type: ignore[arg-type]


def turn(messages: list[Message]) -> int:
    return sum(message.role == "assistant" for message in messages)


def heard(messages: list[Message]) -> str:
    last = next((m for m in reversed(messages) if isinstance(m, UserMessage | ToolResult)), None)
    if isinstance(last, ToolResult):
        return last.error or content_text(last.content)
    return content_text(last.content) if last is not None else ""


BAD_KEY = Fault(status=401, code="invalid_api_key", message="bad key")
BROKE = Fault(status=429, type="insufficient_quota", code="insufficient_quota", message="You exceeded your quota")
says("badkey", BAD_KEY)
says("badkey2", BAD_KEY)
says("down", Fault(status=503, message="overloaded"))
says("broke", BROKE)
says("good", lambda messages: f"good: {heard(messages)}")
says("priced", lambda messages: Reply(f"cost of {heard(messages)}", usage=Usage(input_tokens=1000, output_tokens=500)))

GOOD = "scripted:repair/good"

chained = agent("chained", "badkey", fallbacks=["scripted:repair/badkey2", "nobody:at-all", GOOD])
flaky = agent("flaky", "down", fallbacks=[GOOD])
lone = agent("lone", "down")
poor = agent("poor", "broke", fallbacks=[GOOD])
alone_and_poor = agent("alone", "broke")
by_swarm = Swarm(agents=[agent("first", "badkey")], fallbacks={"scripted:repair/badkey": [GOOD]})
stood_in = Swarm(
    agents=[agent("writer", "badkey"), agent("reader", "good")],
    fallbacks={"writer": [agent("second", "badkey2"), agent("third", "good")]},
)

# -- too large -------------------------------------------------------------------------------------------------------


@tool(idempotent=True)
def dump() -> str:
    """A very long text."""
    return "x" * 60_000


def _picky(limit: int) -> Callable[[list[Message]], Turn]:
    def speak(messages: list[Message]) -> Turn:
        if sum(len(heard([m])) for m in messages) > limit:
            return Fault(status=400, code="context_length_exceeded", message="maximum context length is 100 tokens")
        number = turn(messages)
        return Reply(calls=[Call("dump")]) if number < 2 else f"read {number} pages"

    return speak


says("picky", _picky(70_000))
says("pickier", _picky(500))
fits = agent("fits", "picky", dump)
never_fits = agent("never_fits", "pickier", dump)

# -- other plans -----------------------------------------------------------------------------------------------------


def replan(exc: Exception, context: dict[str, Any]) -> ErrorClassification | None:
    if "sensor" not in str(exc):
        return None
    return ErrorClassification(
        ErrorSeverity.REPLANNING,
        "The sensor has no data",
        {"replanning_reason": "Missing required input data", "required_context": ["SENSOR_DATA", "TIME_RANGE"]},
    )


def reroute(exc: Exception, context: dict[str, Any]) -> ErrorClassification:
    return ErrorClassification(ErrorSeverity.RECLASSIFICATION, f"{context['agent']} is the wrong one for this")


def grave(severity: ErrorSeverity) -> Callable[[Exception, dict[str, Any]], ErrorClassification]:
    return lambda exc, context: ErrorClassification(severity, f"author: {exc}")


@tool(classify_error=replan)
def measure(where: str) -> str:
    """Measure something. Fails everywhere but at home."""
    effect(f"measure {where}")
    if where != "home":
        raise ValueError(f"no sensor at {where}")
    return "21 degrees"


says("measurer", lambda messages: Reply(calls=[Call("measure", {"where": content_text(messages[-1].content)})])
     if turn(messages) == 0 else f"measured {heard(messages)}")  # fmt: skip


FAR = ["mars", "venus", "pluto", "ceres"]


def _lead(messages: list[Message]) -> Turn:
    number = turn(messages)
    if number and "Make another plan" not in heard(messages):
        return f"lead: {heard(messages)}"
    places = ["mars", "home"] if "once" in content_text(messages[-1 - 2 * number].content) else FAR
    return Reply(calls=[Call("delegate_to_measurer", {"task": places[min(number, len(places) - 1)]})])


says("lead", _lead)
team = Swarm(mode="team", agents=[agent("lead"), agent("measurer", "", measure)])


def _selfish(messages: list[Message]) -> Turn:
    number = turn(messages)
    if number and "Make another plan" not in heard(messages):
        return f"self: {heard(messages)}"
    return Reply(calls=[Call("measure", {"where": "mars" if number == 0 else "home"})])


says("selfish", _selfish)
selfish = agent("selfish", "", measure)


def _planner(messages: list[Message]) -> Turn:
    return "home" if "Make another plan" in heard(messages) else "mars"


says("planner", _planner)
planned = Swarm(agents=[agent("planner"), agent("measurer", "", measure), agent("good")], planner="planner")


def _router(messages: list[Message]) -> Turn:
    return "good" if "Choose another agent" in heard(messages) else "wrong"


def _stubborn(messages: list[Message]) -> Turn:
    return "wrong"


says("router", _router)
says("stubborn", _stubborn)
_wrong, _good = agent("wrong", "badkey", classify_error=reroute), agent("good")
routed = Swarm(mode="handoff", agents=[agent("router", handoffs=[_wrong, _good]), _wrong, _good])
misrouted = Swarm(mode="handoff", agents=[agent("router", "stubborn", handoffs=[_wrong, _good]), _wrong, _good])

critical = agent("critical", "badkey", classify_error=grave(ErrorSeverity.CRITICAL))
fatal = agent("fatal", "badkey", classify_error=grave(ErrorSeverity.FATAL))

retriable = agent(
    "retriable",
    "badkey",
    classify_error=grave(ErrorSeverity.RETRIABLE),
    get_retry_policy=lambda: {"max_attempts": 3, "delay_seconds": 0.01, "backoff_factor": 1.0},
    fallbacks=[GOOD],
)
odd_policy = agent("odd", "down", get_retry_policy=lambda: {"max_attempts": "three"})

# -- policies --------------------------------------------------------------------------------------------------------

passed_over = Swarm(agents=[agent("bad", "badkey"), agent("good")], failure="continue")
degraded = Swarm(agents=[agent("bad", "badkey"), agent("good")], failure={"agent": "degrade"})
without_model = Swarm(agents=[agent("bad", "badkey", failure={"model": "degrade"}), agent("good")])
strict = Swarm(agents=[agent("bad", "badkey"), agent("good")])
_members = [agent("bad", "badkey"), agent("good")]
joined = {
    word: Swarm(agents=[ParallelGroup(name="members", agents=_members, join=word)])
    for word in ("all_required", "allow_optional_failures", "first_success", "quorum:1", "quorum:2")
}
all_required, optional, first, quorum1, quorum2 = joined.values()


@tool
def breaks(how: str) -> str:
    """Fail."""
    effect(f"breaks {how}")
    raise RuntimeError(f"broke {how}")


@tool(timeout=0.05)
async def hangs() -> str:
    """Never come back."""
    import asyncio

    await asyncio.sleep(60)
    return "back"


@tool(permissions=("shell",))
def shell(command: str) -> str:
    """Run something."""
    effect(f"shell {command}")
    return command


says("breaker", lambda m: Reply(calls=[Call("breaks", {"how": "it"})]) if turn(m) == 0 else f"told: {heard(m)}")
says("botcher", lambda m: Reply(calls=[Call("breaks", {"what": "it"})]) if turn(m) == 0 else f"told: {heard(m)}")
says("hanger", lambda m: Reply(calls=[Call("hangs")]) if turn(m) == 0 else f"told: {heard(m)}")
says("sheller", lambda m: Reply(calls=[Call("shell", {"command": "ls"})]) if turn(m) == 0 else f"told: {heard(m)}")
tool_continue = agent("breaker", "", breaks)
tool_degrade = agent("breaker", "", breaks, failure={"tool": "degrade"})
tool_fail = agent("breaker", "", breaks, failure={"tool": "fail"})
bad_arguments = agent("botcher", "", breaks)
times_out = agent("hanger", "", hangs)
times_out_fail = agent("hanger", "", hangs, failure={"tool": "fail"})
denied = agent("sheller", "", shell)

# -- budgets ---------------------------------------------------------------------------------------------------------


@tool(idempotent=True)
def look(what: str) -> str:
    """Look at something."""
    effect(f"look {what}")
    return f"saw {what}"


def _busy(messages: list[Message]) -> Turn:
    number = turn(messages)
    usage = Usage(input_tokens=100, output_tokens=50)
    if number < 4:
        return Reply(f"at {number}", calls=[Call("look", {"what": f"n{number}"})], usage=usage)
    return Reply("looked at all", usage=usage)


says("busy", _busy)
busy = agent("busy", "", look)
limited = Swarm(agents=[agent("busy", "", look)], budget={"max_tool_calls": 2})
nested_limit = Swarm(agents=[agent("good"), agent("busy", "", look)], budget={"max_steps": 4})
says(
    "wide", lambda m: Reply(calls=[Call("look", {"what": f"w{n}"}) for n in range(4)]) if turn(m) == 0 else "wide done"
)
wide = agent("wide", "", look)
degrading = Swarm(agents=[agent("busy", "", look)], failure="degrade")

# -- circles ---------------------------------------------------------------------------------------------------------

says("ping", "pong")
says("pong", "ping")
_ping, _pong = agent("ping"), agent("pong")
_ping.handoffs["pong"], _pong.handoffs["ping"] = _pong, _ping
circle = Swarm(mode="handoff", agents=[_ping, _pong], max_handoffs=20)
says("slow", Reply("at last", delay=0.6))
slow = agent("slow")


@tool
async def until_let_go() -> str:
    """Wait until a test writes a file `go` beside the effects."""
    go = Path(os.environ["ORBITER_TEST_EFFECTS"]).parent / "go"
    while not go.exists():  # noqa: ASYNC110 - the world tells nobody
        await asyncio.sleep(0.01)
    return "let go"


says("held", lambda m: Reply(calls=[Call("until_let_go", {})]) if turn(m) == 0 else "at last")
held = agent("held", "", until_let_go)
