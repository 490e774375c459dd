"""A run's tree of 50,000 nodes against one of 500, all unfolded, in the widget that shows it: what is in sight counts.

`a look`: nothing changed. `a change`: a node in sight changed. `an end`: a call ended. `a key`: the cursor moves.
`a node more`: one comes at the end, and `in the midst` under an agent among the others.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from statistics import median

from textual.app import App, ComposeResult

from benchmarks import Ratio
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from screens.views.run.tree import NODE_COLUMNS, RunTree
from screens.views.shared.render_context import RenderContext
from screens.widgets.node_tree import NodeTree
from themes.builtin_themes import builtin_theme
from themes.choice import DEFAULT_THEME

FEW, MANY = 500, 50_000
A_GROUP = 50
ROUNDS = 30
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Shown(App[None]):
    """One tree, on one theme."""

    CSS = "NodeTree { height: 1fr; }"

    def compose(self) -> ComposeResult:
        yield NodeTree(NODE_COLUMNS)

    def on_mount(self) -> None:
        theme = builtin_theme(DEFAULT_THEME)
        self.register_theme(theme)
        self.theme = theme.name


def run() -> list[Ratio]:
    """What each costs with many nodes, in units of what it costs with few."""
    few, many = asyncio.run(_measured(FEW)), asyncio.run(_measured(MANY))
    goals = {
        "a look": 1.5,
        "a change": 1.5,
        "an end": 1.5,
        "a key": 1.5,
        "a node more": 2.0,
        "a node more in the midst": 2.0,
    }
    return [
        Ratio(f"{name} at a tree of {MANY} nodes / of {FEW}", many[name] / few[name], goals.get(name),
              f"{many[name] * 1000:.1f} ms")
        for name in few
    ]  # fmt: skip


async def _measured(nodes: int) -> dict[str, float]:
    state = _state(nodes)
    context = RenderContext(NOW)
    app = Shown()
    async with app.run_test(size=(120, 40)) as pilot:
        tree = app.query_one(NodeTree)
        tree.show(RunTree(state, context))
        await pilot.pause()
        leaf = state.nodes[state.nodes[state.roots[0]].children[0]]

        def change() -> None:
            leaf.input_tokens += 1
            tree.show(RunTree(state, context))

        calls = iter(state.nodes[state.nodes["swarm~0"].children[0]].children)

        def end() -> None:
            state.apply(ev.StepEnded(run_id="r", node_id=next(calls), attempt=1))
            tree.show(RunTree(state, context))

        def more() -> None:
            _begin(state, f"swarm~0/late~{len(state.nodes)}", "swarm~0")
            tree.show(RunTree(state, context))

        agents = state.nodes["swarm~0"].children
        busy = agents[len(agents) // 3]

        def amid() -> None:
            _begin(state, f"{busy}/late~{len(state.nodes)}", busy)
            tree.show(RunTree(state, context))

        return {
            "a look": _best(lambda: tree.show(RunTree(state, context))),
            "a change": _best(change),
            "an end": _best(end),
            "a key": _best(lambda: tree.action_move(1)),
            "a node more": _best(more),
            "a node more in the midst": median(_times(amid)),
        }


def _best(do: Callable[[], None]) -> float:
    return min(_times(do))


def _times(do: Callable[[], None]) -> list[float]:
    """Seconds of CPU of each round."""
    taken = []
    for _ in range(ROUNDS):
        began = time.process_time()
        do()
        taken.append(time.process_time() - began)
    return taken


def _state(nodes: int) -> DurableRun:
    """Agents with calls under way: nothing of it folds by itself."""
    state = DurableRun()
    state.apply(ev.RunCreated(run_id="r", ref="x:y", seq=1))
    state.apply(ev.NodeOpened(run_id="r", node_id="swarm~0", kind="swarm", name="swarm", seq=2))
    for group in range(nodes // A_GROUP):
        agent = f"swarm~0/agent~{group}"
        opened = ev.NodeOpened(run_id="r", node_id=agent, parent_id="swarm~0", kind="agent", name=f"agent {group}")
        state.apply(opened)
        for call in range(A_GROUP - 1):
            _begin(state, f"{agent}/call~{call}", agent)
    return state


def _begin(state: DurableRun, node_id: str, parent_id: str) -> None:
    state.apply(
        ev.StepStarted(
            run_id="r", node_id=node_id, parent_id=parent_id, kind="tool", name="call", agent="a", attempt=1, epoch=1
        )
    )
