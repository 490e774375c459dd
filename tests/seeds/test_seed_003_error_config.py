"""Seed 003: `ErrorHandlingConfig` as an object, for a swarm and for a run, over what the workspace's file says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from orbiter import Agent, ErrorHandlingConfig, Swarm, run
from orbiter.errors import AgentError, ConfigurationError
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Fault
from orbiter.types import Message
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.fault_handling import FaultHandling
from runtime.operations.decisions import InvalidCommand
from runtime.record.state.fault_taxonomy import Cause
from runtime.worker.supervisor import Supervisor
from tests.orbiter.engine_fakes import skip_waits
from tests.runtime.bench import ME, Bench

CONFIGURED = Path(__file__).parents[1] / "data" / "swarms" / "configured.py"
FIXED = "fixed_delay"
FILE = FaultHandling(max_attempts=4, base_retry_delay=0.01)


@asynccontextmanager
async def driving(bench: Bench, errors: FaultHandling = FILE) -> AsyncIterator[None]:
    """A runtime whose configuration is that of its file alone."""
    supervisor = Supervisor(bench.journal, ExecutionConfig(workspace=str(bench.root), errors=errors), period_s=0.02)
    serving = asyncio.create_task(supervisor.serve())
    try:
        yield
    finally:
        supervisor.stop()
        await serving


async def start(bench: Bench, name: str, **options: Any) -> str:
    return await bench.decisions.start(f"{CONFIGURED}:{name}", "go", by=ME, options=options)


@pytest.mark.parametrize(
    ("name", "given", "asked"),
    [
        ("plain", None, 4),  # the file's
        ("top", None, 3),
        ("outer", None, 2),
        ("nested", None, 2),  # the innermost swarm's
        ("top", 1, 1),  # what the run was given
        ("nested", 3, 3),
        ("plain", 2, 2),
        ("called", None, 3),  # a call of `run` in a tool, over the swarm that it runs and those around it
    ],
)
async def test_config_precedence_run_then_innermost_swarm_then_file(
    bench: Bench, name: str, given: int | None, asked: int
) -> None:
    options = {} if given is None else {"errors": ErrorHandlingConfig(max_attempts=given)}
    async with driving(bench):
        await bench.incidents(await start(bench, name, **options))
    assert bench.effects == ["asked"] * asked


async def test_config_holds_after_a_restart(bench: Bench) -> None:
    async with driving(bench):
        run_id = await start(bench, "top", errors={"max_attempts": 2})
        (found,) = await bench.incidents(run_id)
    assert len(bench.effects) == 2
    async with driving(bench):
        await bench.answer(found, "retry")
        await bench.until(run_id, lambda state: len(state.incidents) == 2)
    # An answer to try again begins a round of its own, of as many attempts.
    assert len(bench.effects) == 4


async def test_config_lists_of_classes_and_rules_judge(bench: Bench) -> None:
    async with driving(bench):
        (found,) = await bench.incidents(await start(bench, "critical"))
        assert found.opened.fault.rule_id == "config.critical"
        (found,) = await bench.incidents(await start(bench, "ruled"))
        assert (found.opened.fault.rule_id, found.opened.fault.cause) == ("mine", Cause.QUOTA_EXHAUSTED)


@pytest.mark.parametrize("name", ["unattended", "timed"])
async def test_config_without_an_operator_or_after_its_deadline_the_safe_default_holds(bench: Bench, name: str) -> None:
    async with driving(bench):
        state = await bench.ended(await start(bench, name))
    assert state.phase == "failed"
    assert all(each.answer is not None and each.answer.option == "abort" for each in state.incidents.values())


async def test_config_breaker_of_a_swarm_trips_when_it_says(bench: Bench) -> None:
    async with driving(bench):
        await bench.incidents(await start(bench, "fused"))
        (held,) = await bench.incidents(await start(bench, "fused"))
    assert held.opened.fault.cause is Cause.CIRCUIT_OPEN
    assert bench.effects == ["asked"]


async def test_config_with_a_malformed_rule_is_refused_when_the_swarm_opens(bench: Bench) -> None:
    async with driving(bench):
        (found,) = await bench.incidents(await start(bench, "malformed"))
    assert "error configuration" in found.opened.message
    assert bench.effects == []


async def test_config_of_a_run_that_is_not_one_is_refused(bench: Bench) -> None:
    with pytest.raises(InvalidCommand, match="did you mean 'max_attempts'"):
        await start(bench, "plain", errors={"max_atempts": 2})
    with pytest.raises(InvalidCommand, match="errors"):
        await start(bench, "plain", errors=7)


def test_config_is_read_back_as_the_seeds_page_writes_it() -> None:
    given: dict[str, Any] = {
        "classify_as_critical": ["PermissionError", "ConfigurationError"],
        "classify_as_recoverable": ["RateLimitError", "TimeoutError"],
        "notification_channels": ["terminal", "log"],
    }
    providers: Any = {"anthropic": {"max_retries": 2, "insufficient_quota_action": "raise"}}
    config = ErrorHandlingConfig(**given, provider_settings=providers)
    assert {name: getattr(config, name) for name in given} == given
    assert config.provider_settings["anthropic"]["max_retries"] == 2
    assert config.provider_settings["anthropic"].insufficient_quota_action == "raise"
    with pytest.raises(KeyError):
        config.provider_settings["anthropic"]["max_attempts"]


def test_config_has_one_declaration() -> None:
    assert list(FaultHandling.model_fields) == list(ErrorHandlingConfig.model_fields)
    assert issubclass(FaultHandling, ErrorHandlingConfig)


def test_config_is_checked_when_it_is_given() -> None:
    agent = Agent(name="a", model="scripted:none")
    with pytest.raises(ConfigurationError, match="max_atempts"):
        Swarm(agents=[agent], errors={"max_atempts": 2})
    with pytest.raises(ConfigurationError, match="must be an ErrorHandlingConfig"):
        Swarm(agents=[agent], errors="strict")  # type: ignore[arg-type]


def test_config_is_written_with_its_swarm() -> None:
    agent = Agent(name="a", model="scripted:none")
    written = Swarm(agents=[agent], errors=ErrorHandlingConfig(max_attempts=2)).to_dict()
    assert written["errors"] == {"max_attempts": 2}
    read = Swarm.from_dict(written).errors
    assert read is not None
    assert (read.max_attempts, read.model_fields_set) == (2, {"max_attempts"})


# -- without a runtime ----------------------------------------------------------------------------------------------


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The waits between attempts, in place of waiting."""
    return skip_waits(monkeypatch)


def failing(name: str, status: int) -> Agent:
    def fail(messages: list[Message], tools: object) -> Fault:
        return Fault(status=status, message="not now")

    script(name, fail)
    return Agent(name="a", model=f"scripted:{name}")


async def _drained(events: AsyncIterator[object]) -> None:
    async for _ in events:
        pass


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("of_run", "of_swarm", "expected"),
    [
        (None, None, [1.0, 2.0]),
        (None, ErrorHandlingConfig(max_attempts=2), [1.0]),
        (ErrorHandlingConfig(max_attempts=4, base_retry_delay=0.5, max_retry_delay=1.0), None, [0.5, 1.0, 1.0]),
        (ErrorHandlingConfig(max_attempts=1), ErrorHandlingConfig(max_attempts=5), []),
        (ErrorHandlingConfig(webhook_url="https://hook.invalid/x"), None, [1.0, 2.0]),
    ],
)
async def test_config_of_plain_runs_says_how_often_a_call_is_tried(
    waits: list[float],
    of_run: ErrorHandlingConfig | None,
    of_swarm: ErrorHandlingConfig | None,
    expected: list[float],
    streamed: bool,
) -> None:
    swarm = Swarm(agents=[failing("plain-503", 503)], errors=of_swarm)
    with pytest.raises(AgentError):
        await (_drained(run.stream(swarm, "go", errors=of_run)) if streamed else run(swarm, "go", errors=of_run))
    assert waits == expected


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"max_rate_limit_retries": 1}, [1.0]),
        ({"auto_retry_on_rate_limits": False}, []),
        (
            {
                "provider_settings": {
                    "scripted": {"max_retries": 2, "base_retry_delay": 3.0, "rate_limit_strategy": FIXED}
                }
            },
            [3.0, 3.0],
        ),
    ],
)
async def test_config_of_plain_runs_says_what_follows_a_rate_limit(
    waits: list[float], settings: dict[str, Any], expected: list[float]
) -> None:
    with pytest.raises(AgentError):
        await run(failing("plain-429", 429), "go", errors=ErrorHandlingConfig(**settings))
    assert waits == expected
