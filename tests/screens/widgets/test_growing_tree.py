"""A tree to which nodes are added one by one has the lines of one that is worked out as a whole."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from screens.render.tree_outline import ancestors, outline
from screens.views.run.tree import NODE_COLUMNS, RunTree
from screens.views.shared.render_context import RenderContext
from screens.widgets import line_list
from screens.widgets.node_tree import NodeTree
from tests.screens.widgets.test_live_widgets import Stage

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def _open(state: DurableRun, number: int, parent: str, *, value: bool) -> None:
    """An agent, or a value, which has no line."""
    name = f"{parent}/{number}".lstrip("/")
    if value:
        state.apply(
            ev.StepStarted(
                run_id="r", node_id=name, parent_id=parent, kind="value", name="v", agent="a", attempt=1, epoch=1
            )
        )
    else:
        state.apply(ev.NodeOpened(run_id="r", node_id=name, parent_id=parent, kind="agent", name=str(number)))


async def test_nodes_that_come_get_the_lines_of_a_whole_outline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line_list, "_MOST_INSERTED", 8)
    chance, state, context = random.Random(7), DurableRun(), RenderContext(NOW)
    state.apply(ev.RunCreated(run_id="r", ref="x:y", seq=1))
    tree = NodeTree(NODE_COLUMNS)
    app, outlined = Stage(tree), 0
    async with app.run_test(size=(80, 12)) as pilot:
        whole = tree._outline

        def counted(cursor_key: str = "") -> None:
            nonlocal outlined
            outlined += 1
            whole(cursor_key)

        tree._outline = counted  # type: ignore[method-assign]
        for number in range(150):
            for each in range(chance.choice((1, 1, 3))):
                parent = chance.choice(["", *list(state.nodes)[-12:], *state.nodes])
                _open(state, number * 10 + each, parent, value=chance.random() < 0.3)
            if number % 10 == 9:
                done = chance.choice(list(state.nodes))
                state.apply(ev.NodeClosed(run_id="r", node_id=done, state="succeeded"))
            if number % 25 == 24:
                tree.action_toggle_fold()
                tree.action_move(chance.choice((-3, 1, 4)))
            stands = tree.cursor_key
            tree.show(RunTree(state, context))
            assert tree.cursor_key == stands or not stands
            source = RunTree(state, context)
            expected = outline(source, tree._chosen, glyphs=tree._glyphs, keep_open=tree._kept_open)
            assert [tree._lines[key] for key in tree.keys] == expected
            assert [tree.index_of(key) for key in tree.keys] == list(range(len(tree.keys)))
            assert tree._kept_open == frozenset(ancestors(source, tree.cursor_key))
        await pilot.pause()
    assert 0 < outlined < 75
