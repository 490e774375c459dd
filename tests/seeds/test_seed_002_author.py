"""Seed 002: what the author of a tool says of its failure is carried out, and is read first wherever it is shown."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from orbiter.models.scripted.provider import ScriptedProvider
from orbiter.types import Message
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.reports.analysis_prompt import analysis_prompt
from runtime.judgement.reports.incident_report import build_report
from runtime.judgement.reports.narrator import narrate
from runtime.operations.objects import report_object
from runtime.operations.requests.codec import encode
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import Cause, Remedy
from runtime.worker.duties.analysis_models import should_analyse
from runtime.worker.duties.analyst import Analyst
from tests.runtime.bench import ME, Bench

AUTHORS = Path(__file__).parents[1] / "data" / "swarms" / "authors.py"
REPAIR = AUTHORS.with_name("repair.py")


async def start(bench: Bench, name: str, module: Path = AUTHORS) -> str:
    return await bench.decisions.start(f"{module}:{name}", "go", by=ME)


async def waiting(bench: Bench, name: str, module: Path = AUTHORS) -> DurableRun:
    async with bench.driving():
        run = await start(bench, name, module)
        await bench.incidents(run)
        return await bench.state(run)


# -- 4.3 RETRIABLE ---------------------------------------------------------------------------------------------------


async def test_retriable_is_tried_again_though_the_tool_is_not_declared_idempotent(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "flaky_user"))
    assert (state.phase, state.output) == ("completed", "told: 21 degrees")
    assert bench.effects == ["flaky"] * 3
    assert not state.incidents


async def test_spent_attempts_of_retriable_open_an_incident_and_never_complete_in_silence(bench: Bench) -> None:
    state = await waiting(bench, "lost_user")
    (incident,) = state.open_incidents
    assert bench.effects == ["lost"] * 3
    assert build_report(state, incident.opened).retry_attempts == 2
    offered = [option.id for option in incident.opened.options]
    assert offered == ["retry", "edit", "result", "deny", "skip", "abort"]


async def test_a_breaker_that_opens_holds_a_retriable_call_back_until_it_is_closed(bench: Bench) -> None:
    async with bench.driving(errors=FaultHandling(circuit_breaker_threshold=2)):
        (held,) = await bench.incidents(await start(bench, "flaky_user"))
        assert held.opened.fault.cause is Cause.CIRCUIT_OPEN
        state = await bench.ended_by(held, "reset")
    assert (state.phase, state.output) == ("completed", "told: 21 degrees")
    assert bench.effects == ["flaky"] * 3


async def test_a_retry_that_an_operator_asked_for_waits_for_the_breaker(bench: Bench) -> None:
    async with bench.driving(errors=FaultHandling(circuit_breaker_threshold=3)):
        run_id = await start(bench, "lost_user")
        (spent,) = await bench.incidents(run_id)
        assert spent.opened.fault.cause is Cause.NETWORK
        await bench.answer(spent, "retry")
        state = await bench.until(run_id, lambda state: len(state.incidents) == 2 or state.phase == "completed")
    (held,) = state.open_incidents
    assert held.opened.fault.cause is Cause.CIRCUIT_OPEN
    assert bench.effects == ["lost"] * 3


async def test_the_policy_continue_of_the_tool_has_spent_attempts_told_to_the_model(bench: Bench) -> None:
    async with bench.driving():
        state = await bench.ended(await start(bench, "shrugged_user"))
    assert bench.effects == ["shrugged"] * 3
    assert state.phase == "completed"
    assert "reset by peer" in state.output


async def test_retriable_of_an_agent_repeats_no_call_of_its_tool_that_may_have_had_an_effect(bench: Bench) -> None:
    state = await waiting(bench, "unjudged_user")
    (incident,) = state.open_incidents
    assert bench.effects == ["unjudged"]
    assert incident.opened.what == "Network timeout, retrying..."
    assert incident.opened.options[0].id == "result"


# -- finding 3: the author's words -----------------------------------------------------------------------------------


async def test_the_authors_words_come_first_and_the_rules_sentence_says_why(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "runtime.faults"):
        state = await waiting(bench, "misconfigured_user")
    (incident,) = state.open_incidents
    opened = incident.opened
    report = build_report(state, opened)
    assert opened.what == report.error_message == "Configuration error"
    assert "parameter 'gain' is -1" in report.why
    assert report.metadata["suggestions"] == ["Check configuration parameters", "Verify required fields"]
    assert "**Error Message:** Configuration error\n" in report.markdown()
    assert "Error Message: Configuration error\nWhy" not in report.text()
    assert report_object(state, opened).error_message == "Configuration error"
    read = json.loads(analysis_prompt(state, report))["incident"]
    assert read["error_message"] == "Configuration error"
    assert "gain" in read["why"]
    assert "safety_abort_reason" in read["metadata"]
    said = narrate(opened).text
    assert said is not None
    assert "Configuration error" in str(said)
    assert any("Configuration error" in line for line in caplog.messages)


# -- finding 7: what the error carries -------------------------------------------------------------------------------


async def test_the_context_of_an_error_is_a_table_of_the_report_without_its_secrets(bench: Bench) -> None:
    state = await waiting(bench, "limited_user")
    (incident,) = state.open_incidents
    report = build_report(state, incident.opened)
    assert report.context["limit"] == "10000 tokens/min"
    assert report.context["used"] == "10500 tokens"
    table = report.context_lines()
    assert table[:2] == ["limit        10000 tokens/min", "used         10500 tokens"]
    assert "\n".join(table) in report.markdown()
    read = analysis_prompt(state, report)
    assert "10500 tokens" in read
    for shown in (report.markdown(), report.text(), read, str(encode(report))):
        assert "sk-abcdef0123456789" not in shown


# -- findings 5 and 6: the analysis ----------------------------------------------------------------------------------


async def test_a_replan_that_ran_out_is_a_failure_with_an_analysis_and_no_question(bench: Bench) -> None:
    state = await waiting(bench, "team", REPAIR)
    (incident,) = state.open_incidents
    opened = incident.opened
    assert opened.fault.proposal is Remedy.REPLAN
    assert [option.id for option in opened.options] == ["result", "retry", "edit", "deny", "skip", "abort"]
    assert should_analyse(opened)
    assert build_report(state, opened).why_no_retry == ""


class Says(ScriptedProvider):
    """A model that says one sentence."""

    asked: list[list[Message]]

    async def complete(self, messages: list[Message], **more: object) -> object:  # type: ignore[override]
        self.asked.append(list(messages))
        return await super().complete(messages, **more)  # type: ignore[arg-type]


async def test_a_failure_that_no_operator_may_be_asked_about_is_analysed_before_the_process_ends(bench: Bench) -> None:
    asked: list[list[Message]] = []

    def provider(_: str) -> Says:
        made = Says(["Because the parameter is negative."])
        made.asked = asked
        return made

    async with bench.driving(enable_error_routing=False):
        state = await bench.ended(await start(bench, "misconfigured_user"))
    assert state.phase == "failed"
    analyst = Analyst(bench.journal, ExecutionConfig("", analysis="scripted:x"), provider_for=provider)
    await analyst.finish_unattended()
    state = await bench.state(state.id)
    (incident,) = state.incidents.values()
    assert incident.analysis is not None
    assert incident.analysis.text == "Because the parameter is negative."
    assert len(asked) == 1
