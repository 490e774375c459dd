"""Faults of real providers, over HTTP and through their own SDKs, as the durable scope takes them."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.judgement.reports.explanation.explain import explain
from runtime.judgement.reports.prices import PriceTable
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Incident
from tests.orbiter.models.loopback import Answer, AnthropicSays, Loopback, OpenAISays, Says
from tests.runtime.bench import ME, Bench

REAL = Path(__file__).parents[2] / "data" / "swarms" / "real.py"
POLICY = RetryPolicy(max_attempts=3, base=0.01, jitter=0.0)
SAYS: dict[str, Says] = {"openai": OpenAISays(), "anthropic": AnthropicSays()}


@dataclass
class World:
    bench: Bench
    openai: Loopback
    anthropic: Loopback

    def of(self, name: str) -> Loopback:
        found: Loopback = getattr(self, name)
        return found

    async def start(self, name: str) -> str:
        return await self.bench.decisions.start(f"{REAL}:{name}", "hello", by=ME)


@pytest.fixture
async def world(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[World]:
    async with AsyncExitStack() as stack:
        servers = [await stack.enter_async_context(Loopback()) for _ in range(2)]
        for (name, says), server in zip(SAYS.items(), servers, strict=True):
            monkeypatch.setenv(f"{name.upper()}_BASE_URL", says.base(server.url))
            monkeypatch.setenv(f"{name.upper()}_API_KEY", "k")
        yield World(bench, *servers)


def refusal(says: Says, status: int, kind: str, message: str, code: str | None = None, **headers: str) -> Answer:
    return Answer(
        status, {name.replace("_", "-"): v for name, v in headers.items()}, json.dumps(says.error(kind, message, code))
    )


def reply(says: Says, text: str, *calls: tuple[str, str, str]) -> Answer:
    return Answer(body=says.whole(text, calls))


@pytest.mark.parametrize("name", SAYS)
@pytest.mark.parametrize(
    ("status", "kind", "source"),
    [
        (500, "api_error", "backoff"),
        (503, "overloaded", "backoff"),
        (529, "overloaded_error", "backoff"),
        (429, "rate_limit_error", "retry-after header"),
    ],
)
async def test_what_is_transient_is_asked_again_by_us_and_not_by_the_sdk(  # noqa: PLR0917 - a row of a table
    world: World, caplog: pytest.LogCaptureFixture, name: str, status: int, kind: str, source: str
) -> None:
    says, server = SAYS[name], world.of(name)
    headers = {"retry_after": "0.02"} if status == 429 else {}
    server.answers = [refusal(says, status, kind, "try later", **headers)] * 2 + [reply(says, "well")]
    caplog.set_level(logging.INFO, "runtime.faults")
    async with world.bench.driving(policy=POLICY):
        state = await world.bench.ended(await world.start(name))
    assert (state.phase, state.output, len(server.asked)) == ("completed", "well", 3)
    waits = [event for event in await world.bench.journal.read(state.id) if isinstance(event, ev.RetryScheduled)]
    assert [wait.source for wait in waits] == [source, source]
    lines = [record.getMessage() for record in caplog.records if record.name == "runtime.faults"]
    what = "Rate limit" if status == 429 else "Server error"
    model = state.nodes[waits[0].node_id].name.partition(":")[2]
    assert lines[0].startswith(f"{what} {status} from {model}. Retry 1/2 after 0.0")
    assert lines[-1] == "Request successful after 2 retries"


async def test_an_address_that_is_missing_where_an_agent_begins_is_set_and_the_agent_retried(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    path = world.bench.root / "azure.py"
    path.write_text("from orbiter import Agent\nwriter = Agent(name='writer', model='azure:gpt-5')\n")
    async with world.bench.driving(policy=POLICY):
        run = await world.bench.decisions.start(f"{path}:writer", "hello", by=ME)
        (incident,) = await world.bench.incidents(run)
        told = explain(Incident(incident.opened), await world.bench.state(run))
        assert told.what.text == "The base URL for azure is missing: AZURE_OPENAI_ENDPOINT is not set."
        assert told.option == "retry"
        assert told.because is not None
        assert told.because.text == "it goes on once a runtime that has AZURE_OPENAI_ENDPOINT was started."
        world.openai.answers = [reply(SAYS["openai"], "well")]
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", f"{SAYS['openai'].base(world.openai.url)}/")
        assert (await world.bench.ended_by(incident, "retry")).output == "well"


@pytest.mark.parametrize("name", SAYS)
@pytest.mark.parametrize(
    ("status", "kind", "message", "code", "cause", "first"),
    [
        (401, "authentication_error", "invalid x-api-key", "invalid_api_key", "auth_failed", "retry"),
        (403, "permission_error", "not allowed for this model", None, "permission_denied", "retry"),
        (404, "not_found_error", "model: gone-1", "model_not_found", "model_unknown", "switch_model"),
        (400, "invalid_request_error", "max_tokens: invalid", None, "bad_request", "retry"),
    ],
)
async def test_what_does_not_heal_is_put_before_a_person_at_once(  # noqa: PLR0917 - a row of a table
    world: World, name: str, status: int, kind: str, message: str, code: str | None, cause: str, first: str
) -> None:
    says, server = SAYS[name], world.of(name)
    server.answers = [refusal(says, status, kind, message, code)]
    async with world.bench.driving(policy=POLICY):
        (incident,) = await world.bench.incidents(await world.start(name))
    assert len(server.asked) == 1
    assert (incident.opened.fault.cause, incident.opened.fault.http_status) == (cause, status)
    assert incident.opened.options[0].id == first


async def test_a_connection_that_breaks_is_tried_again(world: World) -> None:
    says = SAYS["openai"]
    world.openai.answers = [Answer(then="reset"), reply(says, "well")]
    async with world.bench.driving(policy=POLICY):
        state = await world.bench.ended(await world.start("openai"))
    assert (state.output, len(world.openai.asked)) == ("well", 2)


async def test_a_429_for_an_empty_account_goes_to_the_other_provider_at_once(world: World) -> None:
    world.openai.answers = [
        refusal(
            SAYS["openai"],
            429,
            "insufficient_quota",
            "You exceeded your current quota, please check your plan and billing details.",
            "insufficient_quota",
        )
    ]
    world.anthropic.answers = [reply(SAYS["anthropic"], "from the other")]
    async with world.bench.driving(policy=POLICY, prices=PriceTable()):
        state = await world.bench.ended(await world.start("both"))
    assert (state.phase, state.output) == ("completed", "from the other")
    assert (len(world.openai.asked), len(world.anthropic.asked)) == (1, 1)
    (node,) = [node for node in state.nodes.values() if node.kind == "llm"]
    assert [found.to_model for found in node.fell_back] == ["anthropic:claude-sonnet-4-5"]
    assert state.cost_usd is not None
    assert state.cost_usd > 0


async def test_a_hint_that_is_too_long_parks_with_its_end_as_deadline(world: World) -> None:
    world.openai.answers = [refusal(SAYS["openai"], 429, "rate_limit_error", "slow down", retry_after="900")]
    async with world.bench.driving(policy=POLICY):
        (incident,) = await world.bench.incidents(await world.start("openai"))
    opened = incident.opened
    assert opened.safe == "wait_retry"
    assert opened.deadline is not None
    assert 890 < (opened.deadline - opened.ts).total_seconds() <= 901


async def test_a_request_that_is_too_large_goes_out_smaller(world: World) -> None:
    says = SAYS["openai"]
    too_long = refusal(
        says,
        400,
        "invalid_request_error",
        "This model's maximum context length is 8192 tokens.",
        "context_length_exceeded",
    )
    world.openai.answers = [reply(says, "", ("c1", "read_all", "{}")), too_long, reply(says, "read it")]
    async with world.bench.driving(policy=POLICY):
        state = await world.bench.ended(await world.start("reader"))
    assert (state.phase, state.output) == ("completed", "read it")
    sizes = [len(json.dumps(asked.body)) for asked in world.openai.asked]
    assert sizes[1] > 80_000
    assert sizes[2] < 10_000
    made: list[Any] = [e for e in await world.bench.journal.read(state.id) if isinstance(e, ev.StepCompacted)]
    assert [each.bytes_after < 10_000 < each.bytes_before for each in made] == [True]


async def test_a_provider_that_is_down_opens_its_breaker_for_all_runs(world: World) -> None:
    world.openai.answers = [refusal(SAYS["openai"], 503, "server_error", "down")]
    world.anthropic.answers = [reply(SAYS["anthropic"], "from the other")]
    errors = FaultHandling(circuit_breaker_threshold=3)
    async with world.bench.driving(policy=POLICY, errors=errors):
        first = await world.bench.ended(await world.start("both"))
        asked = len(world.openai.asked)
        second = await world.bench.ended(await world.start("both"))
    assert first.output == second.output == "from the other"
    assert (asked, len(world.openai.asked)) == (3, 3)
