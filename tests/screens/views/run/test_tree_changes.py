"""What a draw of the tree leaves out: lines that it says did not change are as they were."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from runtime.link.client.streamed_text import StreamedText
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from screens.render.tree_outline import OutlineSource
from screens.views.run.timeline import Timeline
from screens.views.run.tree import CLOCK_SPAN, RunTree
from screens.views.shared.render_context import RenderContext
from tests.runtime.record.state.test_durable_run import PATHS, T0, events
from tests.screens.stories import RATE_LIMITED, Story
from tests.screens.views.story_views import at

NOW = RenderContext(T0 + timedelta(seconds=60))
BEGIN: tuple[ev.JournalEvent, ...] = (
    ev.RunCreated(run_id="r", ref="x:y"),
    ev.RunStarted(epoch=1),
    *(
        ev.StepStarted(node_id=path, parent_id=path.rpartition("/")[0], kind="tool", name="t", agent="a", attempt=1,
                       epoch=1)
        for path in PATHS
    ),
)  # fmt: skip


@given(st.lists(events(), max_size=30), st.sampled_from((0, 2, len(BEGIN))))
@settings(max_examples=300, deadline=None)
def test_a_line_that_did_not_change_is_as_it_was(found: list[ev.JournalEvent], begun: int) -> None:
    state = DurableRun()
    for number, event in enumerate((*BEGIN[:begun], *found), 1):
        before = RunTree(state, NOW)
        lines = {key: before.facts(key) for key in state.nodes}
        state.apply(replace(event, seq=number, ts=T0 + timedelta(seconds=number)))
        tree = RunTree(state, NOW)
        changed = tree.changed_since(before)
        if changed is None or tree.shape() != before.shape():
            continue
        for key in state.nodes:
            assert changed(key) or lines[key] == tree.facts(key), (key, event)


def test_what_one_call_does_changes_its_own_line_alone() -> None:
    story = Story()
    agent = story.open("agent", "a", story.begin())
    first, second = (story.start("llm", "m", agent, each, agent="a") for each in range(2))
    before = RunTree(story.state, at(story))
    story.wait(0.1).fail(first, RATE_LIMITED)
    story.retry(first, 2.0)
    changed = RunTree(story.state, at(story)).changed_since(before)
    assert changed is not None
    assert [key for key in story.state.nodes if changed(key)] == [first]
    assert second in story.state.nodes


def test_after_a_second_each_clock_may_have_moved() -> None:
    story = Story()
    story.start("llm", "m", story.begin(), agent="a")
    before = RunTree(story.state, at(story))
    assert RunTree(story.state, at(story.wait(CLOCK_SPAN.total_seconds() / 2))).changed_since(before) is not None
    assert RunTree(story.state, at(story.wait(CLOCK_SPAN.total_seconds()))).changed_since(before) is None
    assert before.changed_since(RunTree(story.state, at(story))) is None, "the clock was set back"


def test_what_a_call_says_of_its_progress_comes_with_no_event() -> None:
    story = Story()
    call = story.start("tool", "t", story.begin(), agent="a")
    said = {call: StreamedText(1)}
    trees = [RunTree(story.state, at(story), texts=said.get) for _ in range(2)]
    changed = trees[1].changed_since(trees[0])
    assert changed is not None
    assert not changed(call)
    said[call].text = "half of it"
    assert changed(call)


def test_another_state_of_the_run_and_bars_over_time_are_compared_whole() -> None:
    story, other = Story(), Story()
    for each in (story, other):
        each.begin()
    tree = RunTree(story.state, at(story))
    assert RunTree(other.state, at(story)).changed_since(tree) is None
    bars: OutlineSource = Timeline(story.state, at(story))
    assert bars.changed_since(bars) is None
