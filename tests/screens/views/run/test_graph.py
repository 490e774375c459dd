"""The graph of a swarm, from what real swarms say of themselves, as plain lines."""

from __future__ import annotations

from typing import Any

import pytest

from orbiter import Agent, Swarm
from screens.render.glyphs import ASCII_GLYPHS
from screens.render.layout import plain_text
from screens.views.run.graph import swarm_graph
from tests.screens.stories import Story
from tests.screens.views.story_views import at


def swarm(names: str, **given: Any) -> Swarm:
    return Swarm(agents=[Agent(name=name, model="scripted:none") for name in names.split()], **given)


def opened(story: Story, made: Swarm) -> str:
    return story.open("swarm", "flow", members=made._members(), **made._info())


def drawn(story: Story, width: int = 200, **context: Any) -> list[str]:
    return [plain_text(line).rstrip() for line in swarm_graph(story.state, at(story, **context), width).lines]


def test_stages_stand_side_by_side_and_their_members_below_each_other() -> None:
    story = Story()
    root = opened(story, swarm("scout reader checker librarian reporter",
                               flow="scout >> (reader | checker | librarian) >> reporter"))  # fmt: skip
    story.close(story.open("agent", "scout", root, 0))
    reader = story.open("agent", "reader", root, 1)
    story.close(story.open("agent", "checker", root, 2), "failed", error="it broke")
    assert drawn(story) == [
        "           ┌─ ● reader running ─┐",
        "✓ scout ───┼─ ✗ checker failed ─┼─── ○ reporter",
        "           └─ ○ librarian ──────┘",
    ]
    graph = swarm_graph(story.state, at(story), 200)
    assert graph.node_at(0, 14) == reader
    assert graph.node_at(2, 14) == "", "it has not begun"
    without_words = [
        "           ┌─ ● reader ────┐",
        "✓ scout ───┼─ ✗ checker ───┼─── ○ reporter",
        "           └─ ○ librarian ─┘",
    ]
    assert drawn(story, graph.width - 1) == without_words, "the signs say it too"
    least = swarm_graph(story.state, at(story), graph.width - 1).width
    assert drawn(story, least) == without_words
    assert drawn(story, least - 1) == [], "what does not fit is not cut"
    assert all(line.isascii() for line in drawn(story, glyphs=ASCII_GLYPHS))


def test_a_handoff_is_the_way_that_the_work_took() -> None:
    story = Story()
    root = opened(story, swarm("triage billing sales", mode="handoff"))
    for turn, name in enumerate(("triage", "billing", "triage")):
        story.close(story.open("agent", name, root, turn))
    story.open("agent", "sales", root, 3)
    assert drawn(story) == ["✓ triage ───── ✓ billing ───── ✓ triage ───── ● sales running"]


def test_a_team_has_its_lead_before_those_it_delegates_to() -> None:
    story = Story()
    root = opened(story, swarm("lead writer editor", mode="team"))
    lead = story.open("agent", "lead", root, 0)
    tool = story.open("tool", "delegate_to_writer", lead, 0)
    writer = story.open("agent", "writer", tool, 0)
    assert drawn(story) == ["● lead running ───┬─ ● writer running", "                  └─ ○ editor"]
    assert writer in {part.node_id for part in swarm_graph(story.state, at(story), 200).parts}


@pytest.mark.parametrize(
    "made", [swarm("one"), swarm("a b c d e f g h i j", flow="a >> (b | c | d | e | f | g | h | i | j)")]
)
def test_there_is_none_where_a_tree_says_as_much(made: Swarm) -> None:
    story = Story()
    opened(story, made)
    assert drawn(story) == []


def test_a_run_of_before_stages_were_recorded_has_none() -> None:
    story = Story()
    story.open("swarm", "flow", members=["a", "b"], mode="workflow")
    assert drawn(story) == []
