"""What the run page says by itself: what came of an answer, and the result of a run that ended."""

from __future__ import annotations

from textual.pilot import Pilot

from runtime.link.client.client import LinkStatus
from tests.console.app.console_bench import prompt_of, settled, text_of
from tests.screens.pages.run_page import opened, page_text, tree_of
from tests.screens.run_link import RunLink
from tests.screens.stories import MISSING, RATE_LIMITED, Story, limited
from tests.screens.waiting import changed, press, until


def _go_on(link: RunLink, story: Story, node_id: str) -> None:
    """The step is tried again and ends well."""
    story.start("llm", "openai:gpt-4o", node_id.rpartition("/")[0], 1, attempt=2)
    story.wait(1).end(node_id, {"content": "x"})
    link.changed()


async def _retried(story: Story, link: RunLink, pilot: Pilot[None]) -> str:
    node_id = story.state.open_incidents[0].opened.node_id
    await until(pilot, lambda: prompt_of(pilot).armed)
    await press(pilot, "r", then=lambda: "answer" in [verb for verb, _ in link.said])
    return node_id


async def test_a_step_that_worked_after_the_answer_says_so_with_its_name() -> None:
    story = limited(1)
    async with opened(story) as (pilot, link):
        node_id = await _retried(story, link, pilot)
        await until(pilot, lambda: "openai:gpt-4o: Retry operation" in text_of(pilot))
        _go_on(link, story, node_id)
        await until(pilot, lambda: "openai:gpt-4o: worked after your Retry operation" in text_of(pilot))


async def test_a_step_that_fails_again_says_so_and_which_key_goes_there() -> None:
    story = limited(1)
    async with opened(story) as (pilot, link):
        node_id = await _retried(story, link, pilot)
        story.start("llm", "openai:gpt-4o", node_id.rpartition("/")[0], 1, attempt=2)
        story.fail(node_id, RATE_LIMITED, attempt=2)
        story.wait(1).park(node_id, RATE_LIMITED, fingerprint="f-rate", action={"model": "openai:gpt-4o"})
        await changed(pilot, link, then="openai:gpt-4o: failed again after your Retry operation; f goes there")


def _ends(link: RunLink, story: Story) -> None:
    root = story.state.roots[0]
    for key in [key for key, node in story.state.nodes.items() if not node.is_step and key != root]:
        story.close(key, output="x")
    story.close(root, output="All of it.")
    story.finish(output="All of it.")
    link.changed()


async def test_a_run_that_ends_shows_its_result_first() -> None:
    story = limited(1)
    async with opened(story) as (pilot, link):
        node_id = await _retried(story, link, pilot)
        _go_on(link, story, node_id)
        assert tree_of(pilot).cursor_key == node_id
        _ends(link, story)
        await until(pilot, lambda: tree_of(pilot).cursor_key == story.state.roots[0])
        await until(pilot, lambda: page_text(pilot).startswith("Result\nAll of it."))


async def test_under_the_hands_of_an_operator_the_cursor_stays_and_a_line_says_where_the_result_is() -> None:
    story = limited(1)
    async with opened(story) as (pilot, link):
        node_id = await _retried(story, link, pilot)
        _go_on(link, story, node_id)
        await pilot.press("home", "down")
        moved_to = tree_of(pilot).cursor_key
        assert moved_to != story.state.roots[0]
        _ends(link, story)
        await until(pilot, lambda: "home goes to the result" in text_of(pilot))
        assert tree_of(pilot).cursor_key == moved_to


async def test_what_was_said_of_a_lost_runtime_goes_when_it_is_back() -> None:
    story = limited(1)
    async with opened(story) as (pilot, link):
        link.cannot_revive = "no runtime starts here"
        link.lose("gone")
        await settled(pilot)
        await press(pilot, "b", then="no runtime starts here")
        link.status = LinkStatus("connected")
        await changed(pilot, link, then=lambda: "no runtime starts here" not in text_of(pilot))


async def test_a_parent_of_what_waits_does_not_run() -> None:
    story = Story()
    tool = story.start("tool", "ask", story.open("agent", "a", story.begin()), 0)
    story.park(tool, MISSING, question="For whom?")
    async with opened(story) as (pilot, _):
        assert "waits for 1 below" in text_of(pilot)
        assert "running" not in text_of(pilot)
