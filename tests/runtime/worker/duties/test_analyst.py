"""The analysis of incidents: filled in when it is there, a fixed sentence when it is not, never in the run's way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from orbiter.models.scripted.provider import ScriptedProvider
from orbiter.models.scripted.replies import Fault, Reply
from orbiter.types import Message
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.reports.analysis_prompt import recommended_option
from runtime.judgement.reports.incident_report import EMPTY_ANALYSIS, NO_ANALYSIS, build_report
from runtime.record.state.durable_run import Incident
from runtime.worker.duties.analysis_models import analysis_models
from runtime.worker.duties.analyst import Analyst
from tests.runtime.bench import Bench

CONFIG = ExecutionConfig("", analysis="scripted:x")
SAID = (
    "The key was refused because it is not valid [#4].\n"
    "Recommended: switch_model - another provider has a key\n"
    "Wrong if: the key works elsewhere."
)


@asynccontextmanager
async def analysing(bench: Bench, turns: list[object], seen: list[list[Message]] | None = None) -> AsyncIterator[None]:
    class Watched(ScriptedProvider):
        async def complete(self, messages: list[Message], **more: object) -> object:  # type: ignore[override]
            if seen is not None:
                seen.append(list(messages))
            return await super().complete(messages, **more)  # type: ignore[arg-type]

    analyst = Analyst(bench.journal, CONFIG, provider_for=lambda _: Watched(turns), timeout_s=0.5)  # type: ignore[arg-type]
    task = asyncio.create_task(analyst.serve())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def analysed(bench: Bench, name: str = "dead") -> Incident:
    run = await bench.start(name)
    state = await bench.until(run, lambda s: any(i.analysis is not None for i in s.incidents.values()))
    return next(iter(state.incidents.values()))


async def test_the_analysis_joins_the_report_and_its_option_is_one_that_is_offered(bench: Bench) -> None:
    seen: list[list[Message]] = []
    async with bench.driving(), analysing(bench, [SAID], seen):
        incident = await analysed(bench)
        state = await bench.state(incident.opened.run_id)
    report = build_report(state, incident.opened)
    assert report.analysis == SAID
    held = SAID.replace("\n", "\n    ")
    assert report.markdown().endswith(f"**Analysis:** {held}")
    assert recommended_option(SAID, report) == "switch_model"
    assert recommended_option("Recommended: format_disk - now", report) == ""
    told = str(seen[0][1].content)
    for expected in ("auth_failed", "bad key", '"options"', "capabilities", "dead"):
        assert expected in told


@pytest.mark.parametrize(
    ("turns", "text"),
    [
        ([Fault(status=500)], NO_ANALYSIS),
        ([Reply(text="  ")], EMPTY_ANALYSIS),
        ([Fault(kind="silence", seconds=30.0)], NO_ANALYSIS),
        ([Reply(text="late", delay=30.0)], NO_ANALYSIS),
    ],
)
async def test_a_model_that_fails_is_silent_or_slow_leaves_the_fixed_sentence(
    bench: Bench, turns: list[object], text: str
) -> None:
    async with bench.driving(), analysing(bench, turns):
        incident = await analysed(bench)
    assert incident.analysis is not None
    assert (incident.analysis.text, incident.analysis.fallback) == (text, True)
    assert incident.open


async def test_what_a_restart_lost_is_asked_again_and_equal_incidents_are_asked_once(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("dead")
        await bench.incidents(run)
    seen: list[list[Message]] = []
    async with analysing(bench, [SAID], seen):
        await bench.until(run, lambda s: any(i.analysis is not None for i in s.incidents.values()))
        async with bench.driving():
            again = await analysed(bench)
    assert again.analysis is not None
    # Without the events that it points to: they are of the run that it was made of.
    assert again.analysis.text == SAID.replace(" [#4]", "")
    assert len(seen) == 1


async def test_secrets_do_not_reach_the_analysing_model(bench: Bench) -> None:
    seen: list[list[Message]] = []
    async with bench.driving(), analysing(bench, [SAID], seen):
        run = await bench.start("dead", "use key sk-proj-abcdefghijklmnopqrstuvwx123456 please")
        await bench.until(run, lambda s: any(i.analysis is not None for i in s.incidents.values()))
    assert "sk-proj-abcdef" not in str(seen)


def test_another_provider_than_the_failing_one_is_asked_if_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def asked(configured: str, failing: str) -> list[str]:
        return [model.partition(":")[0] for model in analysis_models(configured, failing)]

    assert asked("auto", "openai") == []
    monkeypatch.setenv("OPENAI_API_KEY", "x")
    assert asked("auto", "openai") == ["openai"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "x")
    assert asked("auto", "openai") == ["anthropic", "openai"]
    assert asked("auto", "anthropic") == ["openai", "anthropic"]
    assert asked("auto", "") == ["anthropic", "openai"]
    assert asked("off", "x") == []
    assert analysis_models("groq:y", "x") == ("groq:y",)
