"""Seed 003: a permission error that names what is missing offers "Grant permission" (ids: findings, number 10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from orbiter import Agent, is_granted, require_permission, run
from orbiter.errors import AgentPermissionError, CallRunnerError, PermissionError  # noqa: A004 - seed 003 names it so
from orbiter.models.scripted.provider import script
from runtime.judgement.permissions.policy import PermissionPolicy
from runtime.record.inbox_row import InboxRow
from tests.data.swarms import guarded
from tests.runtime.bench import ME, Bench

GUARDED = Path(__file__).parents[1] / "data" / "swarms" / "guarded.py"
PLACES = ("top", "workflow", "team", "handoff", "parallel")
WAYS = ("helper_sync", "by_attribute", "by_context", "by_agent", "by_builtin")
CASES = [*(f"helper_{place}" for place in PLACES), *(f"{way}_top" for way in WAYS), "agent_top"]


async def opened(bench: Bench, name: str) -> InboxRow:
    (found,) = await bench.incidents(await bench.decisions.start(f"{GUARDED}:{name}", "go", by=ME))
    return found


def labels(found: InboxRow) -> dict[str, str]:
    return {option.id: option.label for option in found.opened.options}


def policy(**rules: object) -> PermissionPolicy:
    return PermissionPolicy.from_mapping(rules, root="/srv")


@pytest.mark.parametrize("name", CASES)
async def test_10_a_grant_lets_the_retried_attempt_go_on(bench: Bench, name: str) -> None:
    async with bench.driving():
        found = await opened(bench, name)
        assert labels(found)["grant"] == "Grant permission"
        assert "retry" not in labels(found)
        assert (found.opened.safe, found.opened.fault.cause) == ("deny", "permission_denied")
        assert "closed" not in bench.effects
        state = await bench.ended_by(found, "grant")
    assert (state.phase, state.anomalies, len(state.incidents)) == ("completed", 0, 1)
    assert "the books are closed" in state.output
    assert bench.effects.count("closed") == 1


@pytest.mark.parametrize("name", ["helper_top", "helper_team", "agent_top"])
async def test_10_a_grant_that_was_given_while_no_process_lived_holds(bench: Bench, name: str) -> None:
    async with bench.driving():
        found = await opened(bench, name)
    await bench.answer(found, "grant")
    async with bench.driving():
        state = await bench.ended(found.run_id)
    assert (state.phase, len(state.incidents), bench.effects) == ("completed", 1, ["closed"])


async def test_10_a_standing_grant_holds_for_the_next_run_and_each_use_is_recorded(bench: Bench) -> None:
    async with bench.driving():
        found = await opened(bench, "helper_top")
        await bench.ended_by(found, "grant", **{"for": "swarm"})
        state = await bench.ended(await bench.decisions.start(f"{GUARDED}:helper_top", "go", by=ME))
    assert (state.phase, len(state.incidents)) == ("completed", 0)
    assert bench.effects == ["closed", "closed"]


@pytest.mark.parametrize("name", ["helper_top", "by_context_top"])
async def test_10_a_denial_goes_to_the_model(bench: Bench, name: str) -> None:
    async with bench.driving():
        found = await opened(bench, name)
        state = await bench.ended_by(found, "deny", message="wait for the audit")
    assert (state.phase, bench.effects) == ("completed", [])
    assert "Denied by the operator: wait for the audit" in state.output


async def test_10_a_denial_of_what_an_agents_own_code_needs_ends_its_branch(bench: Bench) -> None:
    async with bench.driving():
        found = await opened(bench, "agent_top")
        state = await bench.ended_by(found, "deny", message="not today")
    assert state.phase == "failed"
    assert "Denied by the operator: not today" in (state.error or "")
    assert len(state.incidents) == 1


async def test_10_code_that_does_not_look_at_the_grant_is_asked_about_once(bench: Bench) -> None:
    async with bench.driving():
        found = await opened(bench, "stubborn_top")
        state = await bench.ended_by(found, "grant")
    assert (state.phase, len(state.incidents), bench.effects) == ("completed", 1, ["tried", "tried"])
    assert "closing is not allowed" in state.output


async def test_10_an_error_that_names_nothing_offers_what_can_be_done(bench: Bench) -> None:
    async with bench.driving():
        found = await opened(bench, "nameless_top")
    assert "grant" not in labels(found)
    assert "retry" in labels(found)
    assert found.opened.fault.suggestions[0] == "Give this account or process access to it, then retry"


@pytest.mark.parametrize(
    ("more", "closed", "said"),
    [
        ({"permissions": policy(allow=["ledger"])}, ["closed"], "the books are closed"),
        ({"permissions": policy(deny=["ledger"])}, [], "ledger:close 2026 is missing"),
        ({"enable_error_routing": False}, [], "ledger:close 2026 is missing"),
    ],
    ids=["allowed", "denied", "unattended"],
)
async def test_10_what_configuration_decides_is_not_asked(
    bench: Bench, more: dict[str, object], closed: list[str], said: str
) -> None:
    async with bench.driving(**more):  # type: ignore[arg-type]
        state = await bench.ended(await bench.decisions.start(f"{GUARDED}:helper_top", "go", by=ME))
    assert (state.phase, len(state.incidents), bench.effects) == ("completed", 0, closed)
    assert said in state.output


async def test_10_without_a_runtime_the_model_is_told() -> None:
    result = await run(guarded.helper_top, "go")
    assert (
        result.output
        == "told: Tool 'helper' failed: the permission ledger:close 2026 is missing: the books are closed with it"
    )


@pytest.mark.parametrize("streaming", [False, True], ids=["run", "stream"])
async def test_10_except_clauses_of_both_seeds_catch_it(streaming: bool) -> None:
    async def instructions(name: str) -> str:
        await require_permission("agent.invoke:closer")
        return ""

    script("guarded/plain", lambda messages, tools: "done")
    agent = Agent(name="clerk", model="scripted:guarded/plain", instructions=instructions)

    async def go() -> None:
        if streaming:
            async for _ in run.stream(agent, "go"):
                pass
        else:
            await run(agent, "go")

    with pytest.raises(AgentPermissionError) as caught:
        await go()
    assert isinstance(caught.value, CallRunnerError)
    assert isinstance(caught.value, PermissionError)
    assert (caught.value.target_agent, caught.value.permission) == ("closer", "agent.invoke:closer")


def test_10_the_helper_for_threads_says_where_it_works() -> None:
    with pytest.raises(RuntimeError, match="threads of a pool"):
        is_granted.sync("ledger:close 2026")
