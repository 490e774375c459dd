"""The timeline of a run: bars of work, pauses and waiting, and their scale."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from screens.render.glyphs import ASCII_GLYPHS
from screens.render.layout import (
    plain_text,
    width_of,
)
from screens.views.lists.runs import head_line, progress
from screens.views.run import timeline
from screens.views.run.node import node_lines
from screens.views.run.tree import RunTree
from tests.screens.stories import MISSING, RATE_LIMITED, Story, finished
from tests.screens.views.story_views import at, bar_story, words

# -- the timeline ----------------------------------------------------------------------------------------------


def bars(story: Story, width: int = 20, glyphs: Any = None) -> dict[str, str]:
    context = at(story, glyphs)
    scale = timeline.scale_of(story.state, context.now, width)
    state = story.state
    return {
        key.rpartition("/")[2]: plain_text(timeline.bar_of(state.nodes[key], state, scale, context))
        for key in state.nodes
    }


def test_a_bar_tells_work_from_pauses_and_both_from_waiting_for_a_person() -> None:
    found = bars(bar_story())
    assert found["m~0"] == "━━━━┄┄┄┄┄━━━✓"
    assert found["t~1"] == "            ━━▒▒▒▒▒◆"
    assert found["a~0"] == "──────────────▒▒▒▒▒●", "the waiting of a step is rolled up"


def test_a_tool_whose_agent_waits_for_a_person_does_not_work_meanwhile() -> None:
    story = Story()
    asking = story.start("tool", "ask_reader", story.open("agent", "a", story.begin()), 0)
    inner = story.open("agent", "reader", asking)
    tool = story.start("tool", "ask", inner, 0)
    story.wait(4).park(tool, MISSING, question="?")
    assert bars(story.wait(6), 10)["ask_reader~0"] == "────▒▒▒▒▒●"


def test_a_parent_goes_on_while_one_of_its_steps_works_and_another_waits() -> None:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    asks = story.start("tool", "ask", agent, 0)
    works = story.start("tool", "fetch", agent, 1)
    story.wait(2).park(asks, MISSING, question="?")
    story.wait(3).end(works, "x")
    assert bars(story.wait(5), 10)["a~0"] == "─────▒▒▒▒●"


# -- what waits does not run -----------------------------------------------------------------------------------


def shown_words(story: Story) -> dict[str, str]:
    tree = RunTree(story.state, at(story))
    return {key.rpartition("/")[2]: plain_text(tree.row(key).cells[1]) for key in story.state.nodes}


def test_a_parent_below_which_everything_waits_holds_and_says_how_many() -> None:
    story = Story()
    root = story.begin()
    one, other = story.open("agent", "a", root), story.open("agent", "b", root, 1)
    tools = [story.start("tool", "ask", each, 0) for each in (one, other)]
    assert shown_words(story)["a~0"] == "running"
    first = story.park(tools[0], MISSING, question="?")
    found = shown_words(story)
    assert (found["a~0"], found["b~1"], found["weekly_digest~0"]) == ("waits for 1 below", "running", "running")
    story.park(tools[1], MISSING, question="?")
    assert shown_words(story)["weekly_digest~0"] == "waits for 2 below"
    assert plain_text(head_line(story.state, at(story))) == "◆ needs you · 0s · 2 need you", "leaves are counted"
    assert plain_text(progress(story.state.summary(), at(story))) == "2 need you"
    assert words(node_lines(story.state, root, at(story)))[2] == "◇ waits for 2 below · swarm"
    story.answer(first, "input")
    found = shown_words(story)
    assert (found["a~0"], found["weekly_digest~0"]) == ("running", "running")


def test_the_same_in_ascii() -> None:
    found = bars(bar_story(), glyphs=ASCII_GLYPHS)
    assert found["m~0"] == "====.....===+"
    assert found["t~1"] == "            ==??????"


def test_the_scale_is_said_in_words_and_grows_by_steps() -> None:
    story = bar_story()
    scale = timeline.scale_of(story.state, story.at, 20)
    assert scale.seconds == 20
    assert plain_text(scale.words(at(story))) == "20s from 09:00:00, 1.0s a cell  ─ open ━ works ┄ pauses ▒ person"
    assert timeline.scale_of(story.state, story.at + timedelta(seconds=2), 20).seconds == 30
    assert timeline.scale_of(story.state, story.at + timedelta(days=3), 20).seconds == 4 * 86400


def test_nothing_moves_while_a_cell_is_not_full() -> None:
    """What waits for hours must not send a line every second."""
    story = bar_story().wait(3600)
    before = bars(story)
    assert bars(story.wait(30)) == before


def test_a_finished_run_fills_the_scale() -> None:
    story = finished()
    assert timeline.scale_of(story.state, story.at + timedelta(hours=9), 20).seconds == 12
    assert bars(story)["anthropic:claude~0"] == "━" * 19 + "✓"


@given(
    seconds=st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=6),
    width=st.integers(1, 120),
    later=st.floats(0, 1e7),
)
def test_no_bar_is_wider_than_its_room(seconds: list[float], width: int, later: float) -> None:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    for number, pause in enumerate(seconds):
        call = story.start("llm", "m", agent, number)
        story.wait(pause).fail(call, RATE_LIMITED)
        story.retry(call, pause)
    context = at(story.wait(later))
    scale = timeline.scale_of(story.state, context.now, width)
    for found in story.state.nodes.values():
        assert 0 < width_of(timeline.bar_of(found, story.state, scale, context)) <= width
