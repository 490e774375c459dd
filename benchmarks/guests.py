"""What a step of a guest costs under our journal: against the framework alone, and against its own durable option.

A step is a call of a model or of a tool; a run has twenty replies with a tool call each, and a last reply. All ways of
doing the same run are timed in turn, so that what the machine does meanwhile hits them alike; a run counts from its
request to its end.

- pydantic-ai with DBOS on SQLite: the run is a workflow, its model calls are steps by `DBOSDurability`, and the tool is
  a `DBOS.step`, which DBOS asks of its user.
- LangGraph with its `AsyncSqliteSaver`, durability "sync".

Both are compared where they are installed: `make bench-guests` makes an environment that has them.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from uuid import uuid4

from benchmarks import Ratio
from benchmarks.guest_loops import add, chain, typed
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.operations.decisions import Decisions
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.worker.drive import drive

LOOPS = Path(__file__).with_name("guest_loops.py")
CALLS = 20
STEPS = 2 * CALLS + 1
ROUNDS = 7
RUNS = 2
"""Runs of each kind in one round."""

Work = Callable[[], Awaitable[object]]


@asynccontextmanager
async def _ours(root: Path) -> AsyncIterator[Callable[[str], Work]]:
    """Runs of an agent of this benchmark under our journal, by its name."""
    async with await open_journal(root) as journal:
        decisions = Decisions(journal, root)
        config = ExecutionConfig(workspace=str(root), policy=RetryPolicy())

        def work(name: str) -> Work:
            async def run() -> None:
                run_id = await decisions.start(f"{LOOPS}:{name}", str(CALLS), by=ev.Actor(name="benchmark"))
                outcome = await drive(journal, run_id, "me", config)
                state = await decisions.state(run_id)
                assert (outcome, state.output) == ("finished", "done"), [
                    each.opened.message for each in state.open_incidents
                ]

            return run

        yield work


@asynccontextmanager
async def _saver(root: Path) -> AsyncIterator[Work]:
    """LangGraph with its own checkpointer on SQLite."""
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver  # type: ignore[import-not-found]  # a peer

    async with AsyncSqliteSaver.from_conn_string(str(root / "saver.db")) as saver:
        graph = chain(checkpointer=saver)

        async def run() -> None:
            where = {"configurable": {"thread_id": str(uuid4())}, "recursion_limit": 200}
            found = await graph.ainvoke({"messages": [("user", str(CALLS))]}, where, durability="sync")
            assert found["messages"][-1].text == "done"

        yield run


@asynccontextmanager
async def _dbos(root: Path) -> AsyncIterator[Work]:
    """pydantic-ai with DBOS on SQLite."""
    from dbos import DBOS, DBOSConfig
    from pydantic_ai import Agent, Tool
    from pydantic_ai.durable_exec.dbos import DBOSDurability

    config: DBOSConfig = {"name": "benchmark", "system_database_url": f"sqlite:///{root / 'dbos.db'}"}
    DBOS(config=config)
    step = DBOS.step(name="add")(add)
    agent = Agent(typed.model, name="dbos", tools=[Tool(step, name="add")], capabilities=[DBOSDurability()])

    @DBOS.workflow(name="loop")
    async def loop(text: str) -> str:
        return (await agent.run(text)).output

    DBOS.launch()
    try:

        async def run() -> None:
            assert await loop(str(CALLS)) == "done"

        yield run
    finally:
        DBOS.destroy()


async def _typed_alone() -> None:
    assert (await typed.run(str(CALLS))).output == "done"


async def _chain_alone() -> None:
    found = await chain().ainvoke({"messages": [("user", str(CALLS))]}, {"recursion_limit": 200})
    assert found["messages"][-1].text == "done"


async def _in_turn(ways: Mapping[str, Work]) -> dict[str, list[float]]:
    """Seconds per step of each way, round by round. A first run of each pays for what is loaded once."""
    for run in ways.values():
        await run()
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, run in ways.items():
            began = time.perf_counter()
            for _ in range(RUNS):
                await run()
            found[name].append((time.perf_counter() - began) / (RUNS * STEPS))
    return found


def _ratio(framework: str, other: str, goal: float | None, found: Mapping[str, list[float]]) -> Ratio:
    value = median(ours / theirs for ours, theirs in zip(found["ours"], found[other], strict=True))
    note = f"{median(found['ours']) * 1e3:.2f} ms against {median(found[other]) * 1e3:.2f} ms"
    return Ratio(f"a step of an agent of {framework}, our journal / {other}", value, goal, note)


async def _measure() -> list[Ratio]:
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        async with AsyncExitStack() as stack:
            ours = await stack.enter_async_context(_ours(root / "ours"))
            ways: dict[str, Work] = {"ours": ours("chain"), "the framework alone": _chain_alone}
            if importlib.util.find_spec("langgraph.checkpoint.sqlite") is not None:
                ways["its SQLite saver"] = await stack.enter_async_context(_saver(root))
            found = await _in_turn(ways)
            ratios += [_ratio("LangChain", name, 1.0 if "saver" in name else None, found) for name in [*ways][1:]]
        # Last: what DBOS ends, it ends for the whole process.
        async with AsyncExitStack() as stack:
            ours = await stack.enter_async_context(_ours(root / "ours"))
            ways = {"ours": ours("typed"), "the framework alone": _typed_alone}
            if importlib.util.find_spec("dbos") is not None:
                ways["DBOS on SQLite"] = await stack.enter_async_context(_dbos(root))
            found = await _in_turn(ways)
            ratios += [_ratio("pydantic-ai", name, 1.0 if "DBOS" in name else None, found) for name in [*ways][1:]]
    return ratios


def run() -> list[Ratio]:
    """All ratios of this module."""
    logging.getLogger("dbos").setLevel(logging.ERROR)
    return asyncio.run(_measure())
