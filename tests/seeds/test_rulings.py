"""The rows of the findings (section 4) that differ from a seed by a ruling (docs/design.md, section 8), and what was
decided in each: the id of a test's row is the section and the claim.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic import BaseModel

from orbiter import Agent, FailurePolicy, Swarm, run
from orbiter._internal.call_runner import call_runner
from orbiter._internal.state import RunNodeStatus, RunState
from orbiter.compat.recovery_handlers import CircuitBreaker, RetryHandler
from orbiter.errors import (
    AgentError,
    ConfigurationError,
    ModelTimeoutError,
    OrbiterError,
    SwarmError,
)
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Fault, Reply
from orbiter.types import Message, content_text
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.faults.classify import classify_record
from runtime.judgement.recovery.options import options_for
from runtime.judgement.recovery.retry import RetryPolicy, decide_retry
from runtime.judgement.reports.incident_report import build_report
from runtime.record.state.durable_run import RUN_TERMINAL, DurableRun
from runtime.record.state.fault_taxonomy import Impact, Remedy
from tests.orbiter.engine_fakes import skip_waits
from tests.runtime.bench import ME, Bench

SWARMS = Path(__file__).parents[1] / "data" / "swarms"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    skip_waits(monkeypatch)


async def settled(bench: Bench, reference: str, text: str = "go", **more: Any) -> DurableRun:
    file, _, name = reference.partition(":")
    async with bench.driving(**more):
        run_id = await bench.decisions.start(f"{SWARMS / file}.py:{name}", text, by=ME)
        return await bench.until(run_id, lambda state: state.phase in RUN_TERMINAL or bool(state.open_incidents))


# -- 000 and 001 -----------------------------------------------------------------------------------------------------


def _named(*names: str) -> list[Agent]:
    return [Agent(name=name, model="scripted:rulings/none") for name in names]


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Swarm(agents=[]), "Swarm requires at least one agent"),
        (lambda: Swarm(agents=_named("a", "a")), "Duplicate agent name 'a' in swarm"),
        (lambda: Swarm(agents=_named("a"), flow="a >>"), "Invalid flow DSL"),
        (lambda: Swarm(agents=_named("a", "b"), flow="a >> b >> a"), "Cycle in flow DSL"),
    ],
    ids=["4.1-no-agents", "4.1-duplicate-names", "4.1-invalid-flow", "4.1-cycle"],
)
def test_what_the_constructor_can_know_it_refuses(make: Callable[[], Swarm], says: str) -> None:
    with pytest.raises(SwarmError, match=says):
        make()


async def test_4_1_an_unknown_mode_is_refused_by_run() -> None:
    swarm = Swarm(agents=_named("a"), mode="zigzag")  # type: ignore[arg-type]
    with pytest.raises(SwarmError, match="Unsupported swarm mode: 'zigzag'"):
        await run(swarm, "go")


@pytest.mark.parametrize(("status", "calls"), [(401, 1), (503, 3)], ids=["4.1-bad-key", "4.1-server-error"])
async def test_a_refused_key_is_not_tried_again(status: int, calls: int) -> None:
    asked: list[object] = []

    def fail(messages: list[Message], tools: object) -> Fault:
        asked.append(messages)
        return Fault(status)

    script("rulings/refused", fail)
    with pytest.raises(AgentError):
        await run(Agent(name="a", model="scripted:rulings/refused"), "go")
    assert len(asked) == calls


class _Total(BaseModel):
    amount: int


async def test_4_1_the_model_is_told_why_its_output_cannot_be_read() -> None:
    heard: list[str] = []

    def speak(messages: list[Message], tools: object) -> Reply:
        heard.append(content_text(messages[-1].content))
        return Reply("many" if len(heard) == 1 else '{"amount": 3}')

    script("rulings/many", speak)
    agent = Agent(name="a", model="scripted:rulings/many", output_type=_Total)
    result = await run(agent, "How many?")
    assert result.parsed == _Total(amount=3)
    assert "not valid JSON" in heard[1]


@pytest.mark.parametrize(
    "error", [ModelTimeoutError("no word"), TimeoutError()], ids=["4.2-model-time-out", "4.2-bare-time-out"]
)
async def test_a_time_out_that_spent_its_attempts_ends_as_timeout(error: Exception) -> None:
    class Silent:
        async def complete(self, *_: Any, **__: Any) -> Any:
            raise error

    state = RunState("a")
    with pytest.raises(OrbiterError):
        await call_runner(Agent(name="a"), "go", state=state, provider=Silent())
    assert (state.status, state.nodes[0].status) == (RunNodeStatus.TIMEOUT, RunNodeStatus.TIMEOUT)


# -- 002 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "text"), [("repair:team", "once"), ("repair:planned", "go")], ids=["4.3-team", "4.3-workflow"]
)
async def test_a_replan_that_worked_leaves_a_completed_run(bench: Bench, reference: str, text: str) -> None:
    state = await settled(bench, reference, text)
    assert (state.phase, [each.remedy for each in state.returned]) == ("completed", ["replan"])


async def test_4_3_the_explanation_comes_before_what_a_developer_reads(bench: Bench) -> None:
    state = await settled(bench, "authors:misconfigured_user")
    (incident,) = state.open_incidents
    text = build_report(state, incident.opened).markdown()
    order = [text.index(word) for word in ("**Error Message:** Configuration error", "**Why:**", "**Traceback:**")]
    assert order == sorted(order)


async def test_4_3_a_report_is_never_part_of_the_conversation(bench: Bench) -> None:
    async with bench.driving():
        run_id = await bench.decisions.start(f"{SWARMS / 'authors'}.py:misconfigured_user", "go", by=ME)
        (incident,) = await bench.incidents(run_id)
        state = await bench.ended_by(incident, "result", value="7")
    said = json.dumps([node.requested for node in state.nodes.values()], default=str)
    assert state.output == "told: 7"
    assert "Configuration error" not in said


@pytest.mark.parametrize(
    ("attended", "phase"), [(True, "running"), (False, "failed")], ids=["4.3-attended", "4.3-unattended"]
)
async def test_critical_asks_a_person_and_ends_the_run_where_none_may_be_asked(
    bench: Bench, attended: bool, phase: str
) -> None:
    async with bench.driving(enable_error_routing=attended):
        run_id = await bench.decisions.start(f"{SWARMS / 'repair'}.py:critical", "go", by=ME)
        state = await (bench.until(run_id, lambda s: bool(s.open_incidents)) if attended else bench.ended(run_id))
    assert (state.phase == "failed") is (phase == "failed")
    (incident,) = state.incidents.values()
    assert incident.opened.fault.rule_id == "author.critical"


def test_4_3_the_policy_where_no_author_says_anything() -> None:
    policy = RetryPolicy()
    assert (policy.max_attempts, policy.base, policy.factor, policy.jitter) == (4, 1.0, 2.0, 0.1)
    assert (policy.max_retry_delay, policy.max_hint_delay) == (60.0, 120.0)
    config = FaultHandling()
    assert (config.max_attempts, config.circuit_breaker_threshold, config.circuit_breaker_timeout) == (4, 5, 60.0)


# -- 003 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "way"),
    [
        ("team", "Call the tool 'delegate_to_worker' instead"),
        ("handoff", "reply with exactly its name"),
        ("workflow", "cannot be called"),
    ],
    ids=lambda value: f"4.4-{value}" if value in ("team", "handoff", "workflow") else "",
)
async def test_a_peer_that_is_named_as_a_tool_is_answered_with_the_way_that_works(mode: Any, way: str) -> None:
    def speak(messages: list[Message], tools: object) -> Reply:
        last = messages[-1]
        return Reply(calls=[Call("worker", {})]) if last.role == "user" else Reply(getattr(last, "error", None) or "")

    script("rulings/peer", speak)
    worker = Agent(name="worker", model="scripted:rulings/peer")
    lead = Agent(name="lead", model="scripted:rulings/peer", handoffs=[worker] if mode == "handoff" else [])
    stream = run.stream(Swarm(agents=[lead, worker], mode=mode), "go", detailed=True)
    told = [event.error or "" async for event in stream if event.type == "tool_result"]
    assert told[0].startswith("Unknown tool 'worker': 'worker' is an agent, not a tool.")
    assert way in told[0]


def test_4_4_a_payload_too_large_is_made_smaller_and_then_offers_no_retry() -> None:
    fault = classify_record({"provider": "openai", "status": 413, "message": "Payload too large"})
    decided = decide_retry(fault, attempt=1, policy=RetryPolicy(), rng=random.Random(1))
    assert decided.remedy is Remedy.COMPACT_RETRY
    ids = [option.id for option in options_for(replace(fault, exhausted=True), "llm")[0]]
    assert ids == ["switch_model", "result", "skip", "abort"]


def test_4_4_the_handlers_defaults_are_those_of_the_seeds_page() -> None:
    retry, breaker = RetryHandler(), CircuitBreaker()
    assert (retry.max_retries, retry.base_delay, retry.max_delay, retry.exponential_base) == (3, 1.0, 60.0, 2.0)
    assert (breaker.failure_threshold, breaker.recovery_timeout, breaker.state) == (5, 60.0, "closed")
    assert (breaker.failure_count, breaker.last_failure_time) == (0, None)


# -- 004 -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "origin", "impact", "transient"),
    [
        ("OTEL exporter timed out", "telemetry", Impact.ABSORBED, True),
        ("Redis connection refused", "queue", Impact.NODE, True),
    ],
    ids=["4.5-telemetry", "4.5-queue"],
)
def test_failures_of_infrastructure_are_placed(text: str, origin: str, impact: Impact, transient: bool) -> None:
    found = classify_record({"message": text})
    assert (found.origin, found.impact, found.persistence == "transient") == (origin, impact, transient)


@pytest.mark.parametrize("policy", [{"model": "continue"}], ids=["4.5-continue-for-models"])
def test_continue_is_refused_for_models(policy: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match="failure policy for a model"):
        FailurePolicy.of(policy)


async def test_4_5_a_time_out_of_a_tool_names_the_tool_and_its_limit(
    bench: Bench,
) -> None:
    state = await settled(bench, "repair:times_out_fail")
    (incident,) = state.open_incidents
    assert "did not come back within" in incident.opened.message
    assert incident.opened.fault.context["operation"] == "hangs"
