"""The run screen key by key: looking around in a run."""

from __future__ import annotations

from textual.widgets import Input

from runtime.record.state import events as ev
from screens.pages.run import RunScreen
from screens.pages.run_graph import GraphView
from tests.console.app.console_bench import prompt_of
from tests.screens.pages.run_page import opened, page_of, page_text, shown, tree_of
from tests.screens.stories import START, Story, digest
from tests.screens.waiting import changed, press, until

# -- looking around --------------------------------------------------------------------------------------------


async def test_w_goes_to_what_holds_it_up_and_back_to_the_page() -> None:
    async with opened(digest()) as (pilot, _):
        await pilot.press("home")
        await press(pilot, "w", then=lambda: str(page_of(pilot).border_title).startswith("Waits for"))
        assert "weekly_digest  waits for researcher" in page_text(pilot)
        assert tree_of(pilot).cursor_key.endswith("write_file~2")
        await press(pilot, "w", then=lambda: str(page_of(pilot).border_title).startswith("Report"))


async def test_the_chain_goes_away_when_the_cursor_moves_on() -> None:
    async with opened(digest()) as (pilot, _):
        await press(pilot, "home", "w", then=lambda: str(page_of(pilot).border_title).startswith("Waits for"))
        await press(pilot, "up", then=lambda: str(page_of(pilot).border_title).startswith("Node"))


async def test_t_shows_bars_in_place_of_the_page_and_enter_leads_back_to_it() -> None:
    async with opened(digest()) as (pilot, _):
        await press(pilot, "T", then=lambda: shown(pilot, "5m00s from 09:00:00"))
        assert not page_of(pilot).display
        assert shown(pilot, "▒▒▒▒")
        await pilot.press("enter")
        await until(pilot, lambda: page_of(pilot).display and not shown(pilot, "▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒"))
        assert page_of(pilot).has_focus


async def test_faults_only_and_the_filter_leave_out_the_rest_until_escape() -> None:
    async with opened(digest()) as (pilot, _):
        await press(pilot, "F", then=lambda: len(tree_of(pilot).keys) == 3)
        assert shown(pilot, "faults only")
        await press(pilot, "escape", then=lambda: len(tree_of(pilot).keys) > 3)
        await press(pilot, "slash", *"planner", then=lambda: len(tree_of(pilot).keys) == 3)
        await pilot.press("enter")
        assert not pilot.app.screen.query(Input).filter("#filter")
        assert tree_of(pilot).has_focus
        assert shown(pilot, "/planner")
        await press(pilot, "escape", then=lambda: len(tree_of(pilot).keys) > 3)
        assert isinstance(pilot.app.screen, RunScreen)
        await press(pilot, "escape", then=lambda: not isinstance(pilot.app.screen, RunScreen))


async def test_a_page_that_was_asked_for_goes_with_the_node_that_the_filter_leaves_out() -> None:
    async with opened(digest()) as (pilot, _):
        await press(pilot, "home", "w", then=lambda: str(page_of(pilot).border_title).startswith("Waits for"))
        assert tree_of(pilot).cursor_key.endswith("write_file~2")
        await press(pilot, "slash", *"write", then=lambda: shown(pilot, "/write"))
        assert str(page_of(pilot).border_title).startswith("Waits for"), "its node is there"
        await press(pilot, *["backspace"] * 5, *"planner", then=lambda: len(tree_of(pilot).keys) == 3)
        assert tree_of(pilot).cursor_key == "weekly_digest~0"
        await until(pilot, lambda: str(page_of(pilot).border_title).startswith("Report"))


async def test_letters_typed_into_the_filter_answer_nothing() -> None:
    async with opened(digest()) as (pilot, link):
        await until(pilot, lambda: prompt_of(pilot).armed)
        await pilot.press("slash", *"gasd")
        await pilot.pause()
        assert link.said == []
        assert pilot.app.screen.query_one("#filter", Input).value == "gasd"


async def test_a_pattern_that_cannot_be_read_says_so_and_hides_nothing() -> None:
    async with opened(digest()) as (pilot, _):
        before = len(tree_of(pilot).keys)
        await press(pilot, "slash", "left_square_bracket", then=lambda: shown(pilot, "not a valid regular expression"))
        assert len(tree_of(pilot).keys) == before


async def test_a_reference_in_an_analysis_leads_to_the_event_and_its_node() -> None:
    story = digest()
    call = next(event for event in story.events if isinstance(event, ev.StepStarted) and "search" in event.name)
    story.analyse("run-1-inc-1", f"It began with [#{call.seq}].")
    async with opened(story) as (pilot, _):
        await until(pilot, lambda: f"[#{call.seq}]" in page_text(pilot))
        page_of(pilot).focus()
        await pilot.press("right", "right")  # the first link is the rules' own evidence
        await until(pilot, lambda: shown(pilot, f">#{call.seq}]"))
        await press(pilot, "enter", then=lambda: str(page_of(pilot).border_title).startswith("Event"))
        assert tree_of(pilot).cursor_key == call.node_id
        assert "step.started" in page_text(pilot)


async def test_new_nodes_are_marked_and_the_cursor_stays() -> None:
    story = digest()
    async with opened(story) as (pilot, link):
        await pilot.press("home")
        story.wait(1).start("tool", "late", story.state.roots[0], 9)
        await changed(pilot, link, then=lambda: any(line.startswith("+") for line in tree_of(pilot).plain_lines()))
        assert ["late" in line for line in tree_of(pilot).plain_lines() if line.startswith("+")] == [True]
        assert tree_of(pilot).cursor_key == story.state.roots[0]


def in_stages(*names: str) -> tuple[Story, str, str]:
    """A run of a swarm in as many stages, the first of which is done; its root, and the first member's node."""
    story = Story()
    story.tell(ev.RunCreated(ref="/work/digest.py:swarm", input="Write it."))
    story.tell(ev.RunStarted(epoch=1, owner="runtime-1"))
    stages = [[name] for name in names]
    root = story.open("swarm", "flow", members=list(names), mode="workflow", stages=stages)
    first = story.open("agent", names[0], root, 0)
    story.close(first)
    story.open("agent", names[1], root, 1)
    return story, root, first


async def test_the_graph_of_the_swarm_stands_beside_the_tree_where_there_is_room_and_a_click_goes_to_a_member() -> None:
    story, root, scout = in_stages("scout", "writer")
    async with opened(story, size=(200, 50)) as (pilot, _):
        graph, tree, page = pilot.app.screen.query_one("#graph", GraphView), tree_of(pilot), page_of(pilot)
        await until(pilot, lambda: graph.display and page.region.y == graph.region.bottom)
        assert (graph.region.x, graph.region.y) == (tree.region.right, tree.region.y)
        assert page.region.bottom == tree.region.bottom
        (line,) = graph.plain_lines()
        assert line.split() == ["✓", "scout", "─────", "●", "writer", "running"]
        tree.go_to(root)
        await pilot.click(graph, offset=(2 + line.index("scout"), 1))
        await until(pilot, lambda: tree.cursor_key == scout)
        for width, height, beside in ((109, 50, False), (120, 40, True), (120, 14, False), (110, 32, True)):
            await pilot.resize_terminal(width, height)
            await until(pilot, lambda: graph.display is beside)  # noqa: B023 - waited for within the loop
        assert not pilot.app.screen.query_one("#wide-graph").display
        await press(pilot, "z", "z", then=lambda: not tree.display and not graph.display)
        await press(pilot, "z", then=lambda: tree.display and graph.display)


async def test_a_graph_wider_than_the_page_stands_above_tree_and_page_where_there_is_room() -> None:
    story, _, _ = in_stages(*(f"member_of_stage_{number}" for number in range(7)))
    async with opened(story, size=(200, 50)) as (pilot, _):
        beside, above = (pilot.app.screen.query_one(each, GraphView) for each in ("#graph", "#wide-graph"))
        tree = tree_of(pilot)
        await until(pilot, lambda: above.display and tree.region.y >= above.region.bottom > 0)
        assert not beside.display
        await pilot.resize_terminal(200, 39)
        await until(pilot, lambda: not above.display)
        assert not beside.display


# -- what is drawn when ------------------------------------------------------------------------------------------


async def test_a_change_in_sight_is_drawn_soon_and_one_elsewhere_with_the_next_second() -> None:
    story = Story("run-9", "a big run", START)
    agent = story.open("agent", "a", story.begin())
    steps = [story.start("tool", "look", agent, at) for at in range(60)]
    async with opened(story, size=(100, 20)) as (pilot, link):
        screen = pilot.app.screen
        assert isinstance(screen, RunScreen)

        def drawn() -> bool:
            return screen.pace.idle

        link.changed()  # the first time it learns how the link stands
        await press(pilot, "home", then=lambda: drawn() and steps[0] in screen.panes.in_sight)
        story.end(steps[-1], "seen")
        link.changed()
        assert drawn()
        assert screen.panes.as_shown(story.state)
        await until(pilot, lambda: shown(pilot, "59 running"))  # in the head
        await until(pilot, drawn)
        story.end(steps[0], "seen")
        link.changed()
        assert not drawn()
        await until(pilot, lambda: drawn() and screen.panes.as_shown(story.state))
        story.finish()
        link.changed()
        assert not drawn(), "what changes more than one node is drawn wherever it stands"
