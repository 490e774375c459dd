"""A journaled step beside one of LangGraph with its SQLite saver, durability "sync": CPU of the process, in turn.

Both run the same loop: a reply with a tool call, the tool, and so on, and a last reply. Ours runs as under a runtime,
with permissions, budgets and breakers on, from the claim of a run to its end. LangGraph's is a graph of a node for the
model and one for the tool; a checkpoint is on disk before the next node begins. Run on demand: `make bench-peers`.
"""

from __future__ import annotations

import asyncio
import importlib.util
import operator
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Annotated, Any, Final, TypedDict

from benchmarks import Ratio
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.operations.decisions import Decisions
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.service.gc_policy import relaxed_gc
from runtime.worker.drive import drive

LOOPING: Final = Path(__file__).parent.with_name("looping.py")
ROUNDS: Final = 3
SIZES: Final = ((1, 10, 0.3), (64, 10, 0.2), (64, 40, 0.15), (64, 100, 0.1))
"""Runs at once, calls of the tool in each, and the goal."""


class _Said(TypedDict):
    messages: Annotated[list[dict[str, Any]], operator.add]
    rounds: int


async def _ours(root: Path, runs: int, rounds: int) -> float:
    """Seconds of CPU of so many runs. One run before them pays for what is loaded once."""
    async with await open_journal(root) as journal:
        decisions, config = Decisions(journal, root), ExecutionConfig(workspace=str(root), policy=RetryPolicy())
        by = ev.Actor(name="benchmark")
        first, *ids = [await decisions.start(f"{LOOPING}:agent", f"loop {rounds}", by=by) for _ in range(runs + 1)]
        assert await drive(journal, first, "me", config) == "finished"
        began = time.process_time()
        outcomes = await asyncio.gather(*(drive(journal, run_id, "me", config) for run_id in ids))
        spent = time.process_time() - began
    assert set(outcomes) == {"finished"}
    return spent


async def _model(state: _Said) -> dict[str, Any]:
    said = sum(each["role"] == "assistant" for each in state["messages"])
    if said == state["rounds"]:
        return {"messages": [{"role": "assistant", "content": "done"}]}
    call = {"id": f"c{said}", "name": "add", "arguments": f'{{"a": {said}, "b": 3}}'}
    return {"messages": [{"role": "assistant", "content": "", "tool_calls": [call]}]}


async def _tool(state: _Said) -> dict[str, Any]:
    (call,) = state["messages"][-1]["tool_calls"]
    return {"messages": [{"role": "tool", "tool_call_id": call["id"], "content": "3"}]}


def _next(state: _Said) -> str:
    return "tool" if state["messages"][-1].get("tool_calls") else "__end__"


async def _langgraph(root: Path, runs: int, rounds: int) -> float:
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # type: ignore[import-not-found]  # a peer
    from langgraph.graph import StateGraph

    graph: Any = StateGraph(_Said)
    graph.add_node("model", _model)
    graph.add_node("tool", _tool)
    graph.set_entry_point("model")
    graph.add_conditional_edges("model", _next)
    graph.add_edge("tool", "model")
    async with AsyncSqliteSaver.from_conn_string(str(root / "saver.db")) as saver:
        compiled = graph.compile(checkpointer=saver)

        async def run(number: int) -> None:
            where = {"configurable": {"thread_id": f"t{number}"}, "recursion_limit": 3 * rounds + 10}
            begin = {"messages": [{"role": "user", "content": "loop"}], "rounds": rounds}
            found = await compiled.ainvoke(begin, where, durability="sync")
            assert found["messages"][-1]["content"] == "done"

        await run(-1)
        began = time.process_time()
        await asyncio.gather(*map(run, range(runs)))
        return time.process_time() - began


async def _compared(runs: int, rounds: int, goal: float) -> Ratio:
    ours, theirs, steps = [], [], runs * (2 * rounds + 1)
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as folder, relaxed_gc():  # for both, as a runtime has it
            ours.append(await _ours(Path(folder), runs, rounds) / steps)
            theirs.append(await _langgraph(Path(folder), runs, rounds) / steps)
    value = median(one / other for one, other in zip(ours, theirs, strict=True))
    note = f"{min(ours) * 1e3:.2f} ms of CPU against {min(theirs) * 1e3:.2f} ms"
    return Ratio(f"a journaled step / LangGraph's, {runs} at once, {2 * rounds + 1} steps each", value, goal, note)


def run() -> Iterator[Ratio]:
    """A ratio for each size, as soon as it is measured; none where LangGraph's saver is not installed."""
    if importlib.util.find_spec("langgraph") is None or importlib.util.find_spec("langgraph.checkpoint.sqlite") is None:
        return
    for size in SIZES:
        yield asyncio.run(_compared(*size))
