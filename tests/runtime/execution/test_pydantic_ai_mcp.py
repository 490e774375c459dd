"""Tools of an MCP server in an agent of pydantic-ai, under a runtime: the real server on standard streams."""

from __future__ import annotations

from collections import Counter

from tests.runtime.bench import Bench
from tests.runtime.guest_bench import PYDANTIC_AI, effects, parked, starts

start = starts(PYDANTIC_AI.with_name("mcp_guests.py"))


async def test_a_call_of_an_mcp_tool_set_is_a_step_and_is_not_repeated_when_its_server_died(bench: Bench) -> None:
    async with bench.driving(grace_s=0.0):
        run = await start(bench, "clerk")
        (failed,) = await bench.incidents(run)
        assert failed.opened.action == {"tool": "fail", "arguments": {"how": "die"}}
        await bench.until(run, parked)
    async with bench.driving(grace_s=0.0):
        state = await bench.ended_by(failed, "result", value="it was done by hand")
    assert state.output == "the end: it was done by hand"
    steps = {key: node.kind for key, node in state.nodes.items() if node.kind != "llm"}
    assert steps == {
        "clerk~0": "agent",
        "clerk~0/mcp_server__files.get_tools~0.0": "value",
        "clerk~0/read~0.0": "tool",
        "clerk~0/write~0.1": "tool",
        "clerk~0/fail~1.0": "tool",
    }
    assert Counter(effects(bench)) == Counter(["started", "read a", "write b hello", "die"])
