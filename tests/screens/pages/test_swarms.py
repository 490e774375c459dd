"""The screen of swarms: runs below their swarm, how far they are, what they used."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.widget import Widget

from runtime.link.client.client import LinkStatus
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from screens.base.runtime_screen import RuntimeScreen
from screens.pages.inbox import InboxScreen
from screens.pages.swarms import SwarmsScreen
from screens.render.glyphs import ASCII_GLYPHS, UNICODE_GLYPHS
from screens.render.layout import plain_text
from screens.views.lists.runs import rate_facts, time_left
from screens.views.lists.swarms import (
    SWARM_COLUMNS,
    done_share,
    progress_bar,
    runs_of,
    short_names,
    swarm_lines,
    swarm_rows,
)
from screens.views.run.sparkline import (
    MAX_BARS,
    STEP_S,
    TokenTrends,
    sparkline,
)
from screens.views.shared.list_state import ListState
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_cache import RowCache
from screens.views.shared.row_sort import RowSort
from tests.screens.lonely import line_with, showing, text_of
from tests.screens.pages.swarm_runs import workflow
from tests.screens.stories import BROKEN_TOOL, START, Story, finished, limited, summaries_of
from tests.screens.waiting import changed, drawn, press, until
from tests.screens.widgets.test_live_widgets import watch_repaints

# -- how far a run is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("done", range(5))
def test_a_workflow_knows_how_many_members_have_had_their_turn(done: int) -> None:
    summary = workflow(1, done).state.summary()
    assert (summary.members, summary.members_done) == (4, done)
    assert done_share(summary) == done / 4


@pytest.mark.parametrize("mode", ["handoff", "team"])
def test_where_the_agents_choose_who_is_next_the_number_of_parts_is_not_known(mode: str) -> None:
    summary = workflow(1, 2, mode=mode).state.summary()
    assert (summary.members, summary.members_done) == (0, 0)
    assert progress_bar(summary, RenderContext(START)) == ()


def test_members_of_a_parallel_stage_count_and_one_that_is_done_again_is_not_done() -> None:
    story = Story()
    story.tell(ev.RunCreated(ref="x:y"))
    root = story.open("swarm", "swarm", members=["a", "b", "c"], mode="workflow")
    stage = story.open("group", "stage", root)
    for member in "ab":
        story.close(story.open("agent", member, stage))
    assert story.state.summary().members_done == 2
    story.open("agent", "a", root, 1)
    assert story.state.summary().members_done == 1


def test_the_bar_shows_parts_and_the_time_that_is_left_at_this_pace() -> None:
    story = workflow(1, 2)
    context = RenderContext(story.at, UNICODE_GLYPHS)
    assert plain_text(progress_bar(story.state.summary(), context)) == "████░░░░ 2/4 ~2m"
    assert plain_text(progress_bar(story.state.summary(), RenderContext(story.at, ASCII_GLYPHS))) == "####.... 2/4 ~2m"
    assert time_left(workflow(1, 0).state.summary(), START) == ""
    waiting = replace(story.state.summary(), state="waiting")
    assert time_left(waiting, story.at) == "", "how long a person takes is not known"
    ended = workflow(2, 4)
    ended.finish()
    assert progress_bar(ended.state.summary(), context) == ()


# -- what was used lately --------------------------------------------------------------------------------------


def used(tokens: int, state: str = "running") -> dict[str, Summary]:
    return {"r": Summary(id="r", state=state, input_tokens=tokens)}  # type: ignore[arg-type]


def test_a_trend_begins_with_what_is_used_from_now_on_and_stands_still_while_nothing_is() -> None:
    trends = TokenTrends()
    trends.sample(used(5_000), START)
    assert trends.trend("r") == ()
    trends.sample(used(5_100), START + timedelta(seconds=1))
    assert trends.trend("r") == (100,)
    trends.sample(used(5_150), START + timedelta(seconds=STEP_S))
    before = trends.trend("r")
    assert before == (100, 50)
    trends.sample(used(5_150), START + timedelta(seconds=STEP_S * 50))
    assert trends.trend("r") == before
    trends.sample(used(5_160), START + timedelta(seconds=STEP_S * 3))
    trends.sample({}, START + timedelta(seconds=STEP_S * 60))
    assert trends.trend("r") == ()


def test_how_fast_a_run_goes_is_said_and_what_is_left_only_where_it_is_known() -> None:
    known, team = workflow(1, 2), workflow(2, 2, mode="team")
    assert dict(rate_facts(known.state.summary(), RenderContext(known.at))) == {
        "steps": "2, 1 a minute",
        "tokens": "2.0k, 1.0k a minute",
        "left": "about 2m, if the other 2 of 4 parts take as long",
    }
    team_summary = replace(team.state.summary(), members=0, members_done=0)
    assert dict(rate_facts(team_summary, RenderContext(team.at)))["left"].startswith("not known")
    for state in ("waiting", "completed", "frozen"):
        assert dict(rate_facts(replace(team_summary, state=state), RenderContext(team.at)))["left"] == ""
    young = replace(team_summary, updated_at=team_summary.created_at)
    assert dict(rate_facts(young, RenderContext(team.at)))["steps"] == "2", "no rate is made of a moment"


def test_a_trend_is_looked_at_once_a_second_and_not_for_what_had_ended() -> None:
    trends = TokenTrends()
    trends.sample(used(0), START)
    trends.sample(used(10), START + timedelta(seconds=0.5))
    assert trends.trend("r") == ()
    trends = TokenTrends()
    trends.sample(used(0, "completed"), START)
    trends.sample(used(10, "completed"), START + timedelta(seconds=5))
    assert trends.trend("r") == ()


@given(st.lists(st.tuples(st.integers(1, 100), st.integers(0, 500)), max_size=40))
def test_a_trend_has_no_more_bars_than_there_is_room_for_and_none_is_lost_in_it(steps: list[tuple[int, int]]) -> None:
    trends, total, now = TokenTrends(), 0, START
    trends.sample(used(0), now)
    for seconds, more in steps:
        total += more
        now += timedelta(seconds=seconds)
        trends.sample(used(total), now)
    found = trends.trend("r")
    assert len(found) <= MAX_BARS
    assert sum(found) <= total
    assert not found or found[-1] > 0, "it ends with the last step in which something was used"
    for glyphs in (UNICODE_GLYPHS, ASCII_GLYPHS):
        line = plain_text(sparkline(found, glyphs))
        assert len(line) == len(found)
        assert all((char == " ") is (each == 0) for char, each in zip(line, found, strict=True))


# -- the list --------------------------------------------------------------------------------------------------


def foot_of(pilot: Any) -> str:
    return str(text_of(pilot).splitlines()[-1])


def rows_of(*stories: Story, memory: RowCache | None = None) -> list[str]:
    context = RenderContext(START + timedelta(minutes=10))
    rows = swarm_rows(summaries_of(*stories), context, TokenTrends(), memory=memory)
    return [("  " if row.under else "") + " | ".join(plain_text(cell) for cell in row.cells) for row in rows]


def test_runs_stand_below_their_swarm_the_newest_first() -> None:
    assert rows_of(finished(), workflow(1, 1), workflow(2, 3), limited(3, 3)) == [
        "◆ needs you | digest.py:swarm | 2 runs · 1 decision |  | 29k | $0.31 | 7m",
        "  ◆ needs you | chapter 3 | 1 needs you · 1 done |  | 110 |  | 7m",
        "  ✓ completed | translate manual | 3 done |  | 29k | $0.31 | 3h",
        "● running | translate.py:swarm | 2 runs · 2 at work |  | 4.0k | $2.00 | 8m",
        "  ● running | translate 2 | ██████░░ 3/4 ~2m  1 running · 6 done |  | 3.0k | $1.50 | 8m",
        "  ● running | translate 1 | ██░░░░░░ 1/4 ~27m  1 running · 2 done |  | 1.0k | $0.50 | 9m",
    ]


def test_swarms_that_end_alike_are_told_apart() -> None:
    assert short_names(["/a/x.py:s", "/b/x.py:s", "/c/y.py:s"]) == {
        "/a/x.py:s": "/a/x.py:s",
        "/b/x.py:s": "/b/x.py:s",
        "/c/y.py:s": "y.py:s",
    }


def test_a_line_stands_for_its_runs_and_tells_of_them() -> None:
    found = summaries_of(workflow(1, 1), workflow(2, 3), limited(9))
    key = swarm_rows(found, RenderContext(START), TokenTrends())[0].key
    assert key == "swarm::/work/translate.py:swarm"
    assert runs_of(key, found, lambda _: "") == ["run-1", "run-2"]
    assert runs_of("run:run-1", found, lambda _: "") == ["run-1"]
    lines = [plain_text(line) for line in swarm_lines(key, found, RenderContext(START), lambda _: "")]
    assert lines[:2] == ["/work/translate.py:swarm", "● running 2"]
    assert swarm_lines("swarm::gone", found, RenderContext(START), lambda _: "") == []


def test_sorting_keeps_runs_below_their_swarm_and_the_filter_finds_a_swarms_runs() -> None:
    rows = swarm_rows(summaries_of(workflow(1, 3), workflow(2, 1), limited(9)), RenderContext(START), TokenTrends())
    listing = ListState(SWARM_COLUMNS, sort=RowSort("cost"))
    names = [row.key.rpartition("/")[2] for row in listing.rows(rows)]
    assert names == ["translate.py:swarm", "run:run-2", "run:run-1", "digest.py:swarm", "run:run-9"]
    listing.turn()
    names = [row.key.rpartition("/")[2] for row in listing.rows(rows)]
    assert names == ["translate.py:swarm", "run:run-1", "run:run-2", "digest.py:swarm", "run:run-9"], (
        "unknown comes last"
    )
    listing = ListState(SWARM_COLUMNS)
    listing.narrow("translate.py")
    assert [row.key for row in listing.rows(rows)] == ["swarm::/work/translate.py:swarm", "run:run-2", "run:run-1"]


async def test_enter_opens_a_run_and_folds_a_swarm() -> None:
    async with showing(SwarmsScreen, workflow(1, 1), workflow(2, 2)) as (pilot, _):
        await pilot.press("enter")
        await drawn(pilot)
        assert "translate 2" not in text_of(pilot)
        await pilot.press("enter")
        await drawn(pilot)
        await pilot.press("down", "enter")
        await pilot.pause()
        assert pilot.app.opened[-1].run_id == "run-2"  # type: ignore[attr-defined]


async def test_a_key_on_a_swarms_line_is_about_all_of_its_runs_that_have_not_ended() -> None:
    ended = workflow(3, 4)
    ended.finish()
    async with showing(SwarmsScreen, workflow(1, 1), workflow(2, 2), ended, size=(100, 36)) as (pilot, link):
        await press(pilot, "p", then="Freeze 2 runs?")
        await press(pilot, "y", then="2 frozen")
        assert [args["run_id"] for verb, args in link.said if verb == "freeze"] == ["run-1", "run-2"]
        await press(pilot, "escape", then=SwarmsScreen)
        await drawn(pilot)
        assert "‖ frozen" in line_with(pilot, "translate 2")
        await press(pilot, "end", "A", then="Abort the run translate 1?")
        await press(pilot, "y", then="1 aborting")


async def test_on_a_run_that_has_ended_nothing_is_frozen_and_it_is_not_offered() -> None:
    async with showing(SwarmsScreen, finished(), limited(3, 3), size=(120, 24)) as (pilot, link):
        await until(pilot, lambda: "p freeze" in foot_of(pilot))
        await press(pilot, "end", "p", "A", then=lambda: "p freeze" not in foot_of(pilot))
        await until(pilot, lambda: "Abort: what is selected or under the cursor has ended." in text_of(pilot))
        await press(pilot, "home", then=lambda: "p freeze" in foot_of(pilot))
        link.stories["run-3"].finish("failed", error="too late")
        await changed(pilot, link, then=lambda: "p freeze" not in foot_of(pilot))
        assert link.said == []


async def test_tokens_that_are_used_while_one_looks_are_drawn() -> None:
    story = workflow(1, 1)
    async with showing(SwarmsScreen, story, size=(120, 30)) as (pilot, link):
        agent = next(node.id for node in story.state.nodes.values() if node.name == "b")
        story.wait(20)
        call = story.start("llm", "m", agent, agent="b")
        story.end(call, {"content": "x"}, tokens=(9_000, 100))
        await changed(pilot, link, then=lambda: "█ " in line_with(pilot, "translate 1").partition("done")[2])


async def test_each_says_what_it_is_and_how_its_steps_are_made_finer() -> None:
    async with showing(SwarmsScreen, workflow(1, 1), size=(120, 40)) as (pilot, link):
        link.refs = ["translate.py:swarm", "new.py:graph"]
        link.kinds = {"translate.py:swarm": "agent (pydantic-ai)", "new.py:graph": "graph (langgraph)"}
        link.hints = {"new.py:graph": "Wrap [it]: \x1b[1mdurable(function)"}
        await press(pilot, "s", then=lambda: "graph (langgraph)" in line_with(pilot, "new.py:graph"))
        assert "durable(function)" not in text_of(pilot)
        await press(pilot, *"new.py:graph", then="Wrap [it]: ␛[1mdurable(function)")
        await press(pilot, "backspace", then=lambda: "durable(function)" not in text_of(pilot))


async def test_the_list_says_what_a_swarm_is() -> None:
    story = workflow(1, 1)
    rows = swarm_rows(
        summaries_of(story), RenderContext(START), TokenTrends(), kinds={"swarm::/work/translate.py:swarm": "a [kind]"}
    )
    assert plain_text(rows[0].cells[2]).endswith("a [kind]")
    async with showing(SwarmsScreen, story, size=(120, 40)) as (pilot, link):
        link.refs, link.kinds = ["translate.py:swarm"], {"translate.py:swarm": "agent (pydantic-ai)"}
        pilot.app.screen.on_mount()  # type: ignore[attr-defined]
        await until(pilot, lambda: "agent (pydantic-ai)" in line_with(pilot, "1 run"))


async def test_where_nothing_is_listed_no_key_for_runs_is_offered() -> None:
    async with showing(SwarmsScreen) as (pilot, link):
        await until(pilot, lambda: "s starts one" in text_of(pilot))
        assert "freeze" not in text_of(pilot)
        await pilot.press("p", "A")
        story = workflow(1, 1)
        link.stories[story.run_id] = story
        await changed(pilot, link, then="p freeze")


async def test_a_host_that_is_lost_keeps_no_run_from_another() -> None:
    async with showing(SwarmsScreen, size=(100, 30)) as (pilot, link):
        link.status = LinkStatus("lost", "west: gone")
        link.host_names = ("east",)
        await press(pilot, "s", *"a.py:b", "ctrl+s", then=lambda: any(verb == "start" for verb, _ in link.said))
        assert next(args["where"] for verb, args in link.said if verb == "start") == "east"


async def test_with_no_runs_the_swarms_say_which_key_starts_one() -> None:
    async with showing(SwarmsScreen, size=(80, 24)) as (pilot, _):
        assert "No runs yet. s starts one." in text_of(pilot)


# -- what all lists have to stand ------------------------------------------------------------------------------


def hostile() -> Story:
    story = Story("run-h", "\x1b]0;owned\x07[/x][@click=app.quit]go[/] \u202eevil")
    story.tell(ev.RunCreated(ref="/work/\x1b[2Jx.py:swarm", title=story.title, input="\x1b[31m"))
    story.tell(ev.RunStarted(epoch=1))
    tool = story.start("tool", "\x1b[5mreach", story.open("agent", "\u202ea", story.open("swarm", "[bold]s")))
    story.park(tool, BROKEN_TOOL, message="\x9b31m[/]", fingerprint="f-h", action={"arguments": {"a": "\x1b[2J"}})
    return story


@pytest.mark.parametrize("made", [InboxScreen, SwarmsScreen])
async def test_hostile_text_stays_text_in_every_list_and_page(made: type[RuntimeScreen]) -> None:
    twin = Story("run-i", "x")
    twin.tell(ev.RunCreated(ref="x:y", title="\x1b[1m[/]"))
    twin.park(twin.start("tool", "t", twin.open("agent", "a")), BROKEN_TOOL, fingerprint="f-h", message="\x1b[0m")
    async with showing(made, hostile(), twin, size=(140, 40)) as (pilot, _):
        for keys in (
            ["right"],
            ["B"],
            ["r"],
            ["escape", "escape"],
            ["A"],
            ["n", "escape"],
            ["s"],
            ["escape", "escape"],
        ):
            await pilot.press(*keys)
            await pilot.pause()
            shown = text_of(pilot)
            assert not any(char in shown for char in "\x1b\x07\x9b\u202e")
        assert "owned" in text_of(pilot)


@pytest.mark.parametrize("made", [InboxScreen, SwarmsScreen])
async def test_nothing_is_painted_while_nothing_happens(
    made: type[RuntimeScreen], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(made, workflow(1, 2), limited(2), limited(3), finished(), size=(120, 40)) as (pilot, link):
        await pilot.press("F", "o", "o", "space")
        await drawn(pilot)
        painted = [watch_repaints(widget, monkeypatch) for widget in pilot.app.screen.walk_children(Widget)]
        for _ in range(3):
            link.changed()
            await drawn(pilot)
        assert [regions for regions in painted if regions] == []
