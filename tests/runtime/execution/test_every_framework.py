"""What holds for the agents of every framework: what is recorded of them, what waits, and what an answer does.

What only one framework has is in the file of its own; acts between calls are in `test_guest_controls`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from runtime.operations.run_controls import RunControls
from runtime.record.state import events as ev
from runtime.record.state.fault_taxonomy import Limit
from tests.runtime.bench import ME, Bench
from tests.runtime.guest_bench import LANGGRAPH, OPENAI_AGENTS, PYDANTIC_AI, effects, options, parked, starts, two

FRAMEWORKS = {"pydantic-ai": PYDANTIC_AI, "langgraph": LANGGRAPH, "openai-agents": OPENAI_AGENTS}
EACH = pytest.mark.parametrize("file", FRAMEWORKS.values(), ids=FRAMEWORKS)
OF_CALLS = pytest.mark.parametrize("file", [PYDANTIC_AI, OPENAI_AGENTS], ids=["pydantic-ai", "openai-agents"])
"""Frameworks that know approvals, messages and breakpoints of single calls themselves."""
SEEN = {PYDANTIC_AI: "saw p", LANGGRAPH: "saw p", OPENAI_AGENTS: "{'seen': 'p'}"}
"""How the result of a look stands in a reply."""


@pytest.mark.parametrize(
    ("framework", "model", "tokens"),
    [
        ("pydantic-ai", "function:scripted", None),
        ("langgraph", "scripted", (10, 5)),
        ("openai-agents", "plain", (20, 5)),
    ],
)
async def test_a_bare_agent_takes_the_name_of_its_reference(
    bench: Bench, framework: str, model: str, tokens: tuple[int, int] | None
) -> None:
    async with bench.driving():
        state = await bench.ended(await starts(FRAMEWORKS[framework])(bench, "plain"))
    assert state.output == "you said go"
    node = state.nodes["plain~0"]
    assert (node.kind, node.name, node.info["framework"], node.warnings) == ("agent", "plain", framework, ())
    asked = state.nodes["plain~0/llm~0"]
    said = [{"role": "user", "content": "go"}]
    assert (asked.kind, asked.name, asked.requested["messages"]) == ("llm", model, said)
    assert asked.input_tokens > 0
    assert tokens in (None, (asked.input_tokens, asked.output_tokens))


@EACH
async def test_calls_that_end_in_reverse_order_have_the_places_of_the_reply(bench: Bench, file: Path) -> None:
    async with bench.driving():
        state = await bench.ended(await starts(file)(bench, "reverse"))
    steps = {key: node.requested["arguments"] for key, node in state.nodes.items() if node.kind == "tool"}
    assert steps == {
        "reverse~0/note~0.0": {"text": "p0"},
        "reverse~0/note~0.1": {"text": "p1"},
        "reverse~0/note~0.2": {"text": "p2"},
        "reverse~0/look~0.3": {"what": "p"},
    }
    assert [each for each in effects(bench) if each.startswith("note")] == ["note p2", "note p1", "note p0"]
    assert state.nodes["reverse~0/look~0.3"].idempotent
    assert state.output == f"three notes: noted p0; noted p1; noted p2; {SEEN[file]}"


@EACH
async def test_a_failure_that_would_end_the_run_is_an_incident_and_an_edit_heals_it(bench: Bench, file: Path) -> None:
    async with bench.driving():
        (failed,) = await bench.incidents(await starts(file)(bench, "broken"))
        assert failed.opened.action == {"tool": "reach", "arguments": {"host": "h"}}
        assert failed.opened.arguments_schema is not None
        state = await bench.ended_by(failed, "edit", arguments={"host": "up"})
    assert state.output == "went on: reached up"
    assert effects(bench) == ["reach h", "reach up"]


@EACH
async def test_a_guest_and_another_stand_in_one_swarm(bench: Bench, file: Path) -> None:
    async with bench.driving():
        state = await bench.ended(await starts(file)(bench, "both"))
    assert [node.name for node in state.nodes.values() if node.kind == "agent"] == ["first", "parallel"]
    assert state.output == f"three notes: noted p0; noted p1; noted p2; {SEEN[file]}"


@EACH
async def test_the_model_is_one_of_those_that_are_registered(bench: Bench, file: Path) -> None:
    async with bench.driving():
        (failed,) = await bench.incidents(await starts(file)(bench, "switching"))
        assert failed.opened.fault.cause in ("auth_failed", "permission_denied")
        state = await bench.ended_by(failed, "switch_model", model="spare")
    assert state.output == "the spare one"
    assert state.nodes["switching~0/llm~0"].effective["model"] == "spare"


@OF_CALLS
async def test_each_call_that_needs_approval_is_an_incident_of_its_own(bench: Bench, file: Path) -> None:
    async with bench.driving():
        first, second = await two(bench, await starts(file)(bench, "banker"))
        assert [each.opened.action for each in (first, second)] == [
            {"tool": "pay", "arguments": {"to": "ann", "amount": 1}, "permission": "approval.pay"},
            {"tool": "pay", "arguments": {"to": "bob", "amount": 2}, "permission": "approval.pay"},
        ]
        assert options(first) == ["grant", "deny", "edit", "result", "skip", "abort"]
        assert first.opened.arguments_schema is not None
        with pytest.raises(Exception, match="amount"):  # checked as the model's are
            await bench.answer(first, "edit", arguments={"to": "ann", "amount": "much"})
        await bench.answer(second, "deny", message="not bob")
        state = await bench.ended_by(first, "edit", arguments={"to": "ann", "amount": 5})
    assert effects(bench) == ["note balance", "note paid ann 5"]
    assert state.output == '{"total": 3, "paid": ["ann", "bob"]}'
    assert state.nodes["bank~0/pay~0.1"].result["error"] == "Denied by the operator: not bob"


@OF_CALLS
async def test_a_grant_is_for_the_call_that_was_shown(bench: Bench, file: Path) -> None:
    async with bench.driving():
        run = await starts(file)(bench, "banker")
        first, second = await two(bench, run)
        await bench.answer(first, "grant")
        await bench.until(run, lambda state: state.nodes["bank~0/pay~0.0"].terminal)
        assert [each.opened.incident_id for each in await bench.incidents(run)] == [second.opened.incident_id]
        state = await bench.ended_by(second, "result", value="bob was paid in cash")
    assert effects(bench) == ["note balance", "note paid ann 1"]
    assert state.nodes["bank~0/pay~0.1"].result["content"] == "bob was paid in cash"


@OF_CALLS
async def test_a_changed_tool_parks_with_the_difference(bench: Bench, tmp_path: Path, file: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(file.read_text())
    async with bench.driving(grace_s=0.0):
        run = await bench.decisions.start(f"{mine}:broken", "go", by=ME)
        await bench.until(run, parked)
    mine.write_text(file.read_text().replace("def reach(", "def grab(").replace("tools=[reach]", "tools=[grab]"))
    async with bench.driving(grace_s=0.0):
        (failed,) = await bench.incidents(run)
        await bench.answer(failed, "retry")
        await bench.until(run, lambda state: any("tools" in each.opened.message for each in state.open_incidents))
        (changed,) = await bench.incidents(run)
    assert "tools: recorded" in changed.opened.message


@OF_CALLS
async def test_what_an_operator_declares_in_the_settings_goes_over_the_authors_word(bench: Bench, file: Path) -> None:
    async with bench.driving(guest_tools={"note": {"permissions": ["notes:{text}"]}, "look": {"idempotent": False}}):
        run = await starts(file)(bench, "parallel")
        asked = sorted(await bench.incidents(run, 3), key=lambda each: each.opened.node_id)
        assert [each.opened.action["permission"] for each in asked] == ["notes:p0", "notes:p1", "notes:p2"]
        for each in asked:
            await bench.answer(each, "grant")
        state = await bench.ended(run)
    assert not state.nodes["parallel~0/look~0.3"].idempotent


@OF_CALLS
async def test_what_an_operator_says_to_the_agent_is_in_its_next_request(bench: Bench, file: Path) -> None:
    async with bench.driving():
        run = await starts(file)(bench, "broken")
        (failed,) = await bench.incidents(run)
        await RunControls(bench.journal).inject(run, "broken", "be kind", by=ME)
        state = await bench.ended_by(failed, "result", value="fine")
    assert state.output == "went on: fine; be kind"


@OF_CALLS
async def test_a_breakpoint_stops_before_a_tool(bench: Bench, file: Path) -> None:
    async with bench.driving():
        run = await starts(file)(bench, "broken")
        (failed,) = await bench.incidents(run)
        await RunControls(bench.journal).set_breakpoint(run, "tool", "reach", by=ME)
        await bench.answer(failed, "retry")
        await bench.until(
            run, lambda state: any(each.opened.fault.rule_id == "breakpoint" for each in state.open_incidents)
        )
        (stopped,) = await bench.incidents(run)
        assert bench.effects.count("reach h") == 1
        state = await bench.ended_by(stopped, "edit", arguments={"host": "up"})
    assert state.output == "went on: reached up"


@OF_CALLS
async def test_a_run_is_turned_back_to_a_call_and_goes_on_from_there(bench: Bench, file: Path) -> None:
    async with bench.driving():
        run = await starts(file)(bench, "parallel")
        await bench.ended(run)
        await RunControls(bench.journal).rewind(run, "parallel~0/llm~1", confirm=True, by=ME)
        state = await bench.until(run, lambda state: state.phase == "completed" and state.lives > 1)
    assert state.output == f"three notes: noted p0; noted p1; noted p2; {SEEN[file]}"
    assert Counter(effects(bench)) == Counter(["look p", "note p0", "note p1", "note p2"])
    assert len(bench.effects) - len(effects(bench)) == 3, "requests to the model: two at first, then the second again"


@OF_CALLS
async def test_a_fork_begins_with_what_was_done(bench: Bench, file: Path) -> None:
    async with bench.driving():
        run = await starts(file)(bench, "parallel")
        await bench.ended(run)
        state = await bench.ended(await RunControls(bench.journal).fork(run, "parallel~0/note~0.1", by=ME))
    assert state.output == f"three notes: noted p0; noted p1; noted p2; {SEEN[file]}"
    assert bench.effects.count("note p1") == 2
    assert len(bench.effects) - len(effects(bench)) == 3


@OF_CALLS
async def test_an_agent_is_skipped_from_its_model_or_from_a_tool_or_its_branch_is_ended(
    bench: Bench, file: Path
) -> None:
    start = starts(file)
    async with bench.driving():
        (failed,) = await bench.incidents(await start(bench, "switching"))
        state = await bench.ended_by(failed, "skip", value="nothing to say")
        assert (state.phase, state.output) == ("degraded", "nothing to say")
        first, _ = await two(bench, await start(bench, "banker"))
        state = await bench.ended_by(first, "skip", value="no bank today", reach="agent")
        assert (state.phase, state.output, state.open_incidents) == ("degraded", "no bank today", [])
        assert [each for each in effects(bench) if each.startswith("note")] == ["note balance"]
        (failed,) = await bench.incidents(await start(bench, "broken"))
        state = await bench.ended_by(failed, "abort", reach="agent", reason="enough")
    assert state.phase == "failed"
    assert "ended this branch" in state.summary().error


@OF_CALLS
async def test_a_step_takes_little_beyond_the_reply(bench: Bench, file: Path) -> None:
    async with bench.driving():
        run = await starts(file)(bench, "parallel")
        await bench.ended(run)
    by_step: Counter[str] = Counter()
    for event in await bench.journal.read(run):
        if isinstance(event, ev.StepStarted | ev.StepEnded):
            by_step[event.node_id] += len(ev.dump_event(event))
    assert len(by_step) == 6
    assert max(by_step.values()) < 2_000


@pytest.mark.parametrize(("file", "most"), [(PYDANTIC_AI, 60), (OPENAI_AGENTS, 20)])
async def test_tokens_count_in_the_budget(bench: Bench, file: Path, most: int) -> None:
    async with bench.driving():
        options = {"budget": {"max_total_tokens": most}}
        hits = await bench.incidents(await bench.decisions.start(f"{file}:parallel", "go", options=options, by=ME))
    assert {each.opened.fault.limit for each in hits} == {Limit.TOKENS}
