"""The inbox: which decision comes first, those that are the same on one line, filters and selections."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from textual.pilot import Pilot

from runtime.judgement.reports.priority import blocked_count, by_priority, priority_of
from screens.dialogs.batch_action import BatchActionScreen
from screens.pages.inbox import InboxScreen, first_use_text
from screens.pages.swarms import SwarmsScreen
from screens.render.layout import plain_text
from screens.views.decisions.incident_groups import group_key, group_members
from screens.views.lists.inbox import inbox_rows
from screens.views.run.preview import preview_lines
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_cache import RowCache
from screens.widgets.pattern_input import PatternInput
from screens.widgets.row_list import RowList
from tests.screens.lonely import line_with, showing, text_of
from tests.screens.stories import BROKEN_TOOL, START, Story, digest, finished, limited, summaries_of, waiting_of
from tests.screens.waiting import changed, drawn, press, until


def ranked(*stories: Story, minutes: float = 60) -> list[str]:
    found = by_priority(waiting_of(*stories), summaries_of(*stories), START + timedelta(minutes=minutes))
    return [each.run_id for each in found]


# -- which comes first -----------------------------------------------------------------------------------------


def test_what_waits_longer_costs_more_or_blocks_more_comes_first() -> None:
    one, older = limited(1, 30, fingerprint="a"), limited(2, 0, fingerprint="b")
    assert ranked(one, older) == ["run-2", "run-1"]
    dear = limited(3, 30, fingerprint="c", usd=9.0)
    assert ranked(one, dear) == ["run-3", "run-1"]
    deep = limited(4, 30, fingerprint="d")
    state = deep.state
    deep.park(
        deep.start("tool", "look", deep.open("group", "inner", state.nodes[state.roots[0]].children[0])), BROKEN_TOOL
    )
    assert ranked(one, deep)[0] == "run-4"


def test_in_a_run_where_everything_waits_all_that_is_left_of_it_is_blocked() -> None:
    story = limited(1)
    (found,) = waiting_of(story)
    summary = story.state.summary()
    around = len(found.opened.lineage)
    assert blocked_count(found, summary) == around
    parked = replace(summary, state="waiting", nodes={"running": 9, "waiting": 3, "succeeded": 50})
    assert blocked_count(found, parked) == 12
    assert blocked_count(found, replace(parked, open_incidents=3)) == max(around, 4)
    assert blocked_count(found, None) == around


def test_those_that_are_the_same_count_together_and_stand_together_the_oldest_first() -> None:
    alone = limited(1, 0, fingerprint="alone")
    many = [limited(n, 20 + n, fingerprint="many") for n in (5, 4, 3)]
    assert ranked(alone, *many) == ["run-3", "run-4", "run-5", "run-1"]


@given(
    st.lists(st.tuples(st.integers(0, 90), st.sampled_from("abc"), st.none() | st.integers(0, 9)), max_size=7),
    st.randoms(),
)
def test_the_order_does_not_depend_on_how_they_arrive(made: list[tuple[int, str, int | None]], random: Any) -> None:
    stories = [limited(n, minutes, fingerprint=mark, usd=usd) for n, (minutes, mark, usd) in enumerate(made)]
    expected = ranked(*stories)
    mixed = list(stories)
    random.shuffle(mixed)
    assert ranked(*mixed) == expected
    assert sorted(expected) == sorted(story.run_id for story in stories)
    groups = [limited_mark for limited_mark, _ in _runs([_mark(stories, run_id) for run_id in expected])]
    assert len(groups) == len(set(groups)), "a group stands in one piece"


def _mark(stories: list[Story], run_id: str) -> str:
    return next(waiting_of(story)[0].opened.fingerprint for story in stories if story.run_id == run_id)


def _runs(marks: list[str]) -> list[tuple[str, int]]:
    found: list[tuple[str, int]] = []
    for mark in marks:
        if not found or found[-1][0] != mark:
            found.append((mark, 1))
    return found


@given(st.floats(0, 1e6), st.floats(0, 1e6))
def test_waiting_longer_never_weighs_less(one: float, more: float) -> None:
    (found,) = waiting_of(limited(1))
    now = found.opened.ts + timedelta(seconds=one)
    assert priority_of(found, None, now) <= priority_of(found, None, now + timedelta(seconds=more))


async def test_the_order_stays_while_nothing_comes_or_goes_and_n_follows_it() -> None:
    slow, quick = limited(1, 10, fingerprint="a"), limited(2, 0, fingerprint="b")
    async with showing(InboxScreen, slow, quick) as (pilot, link):
        session = pilot.app.screen.session  # type: ignore[attr-defined]
        before = [found.run_id for found in session.decisions()]
        assert before == ["run-2", "run-1"]
        agent = next(node.id for node in slow.state.nodes.values() if node.kind == "agent")
        more = slow.start("llm", "openai:gpt-4o", agent, 7, messages=1)
        slow.end(more, {"content": "x"}, tokens=(1, 1), usd=500.0)
        link.changed()
        await drawn(pilot)
        assert [found.run_id for found in session.decisions()] == before, "a cost that grew moves nothing"
        await pilot.press("n")
        assert pilot.app.opened[-1].run_id == "run-2"  # type: ignore[attr-defined]
        await pilot.press("o", "o", "o", "o", "o", "o", "o")
        await drawn(pilot)
        assert [found.run_id for found in session.decisions()] == ["run-1", "run-2"], "it was asked for again"


# -- groups ----------------------------------------------------------------------------------------------------


def test_equal_decisions_are_one_line_with_the_others_under_it() -> None:
    stories = [limited(n, n) for n in range(1, 4)]
    rows = inbox_rows({}, by_priority(waiting_of(*stories), {}, START), RenderContext(START + timedelta(minutes=9)))
    above, *under = rows[1:]
    assert plain_text(above.cells[1]) == "3 alike"
    assert plain_text(above.cells[2]).startswith("rate limited · openai:gpt-4o")
    assert plain_text(above.cells[5]) == "7m", "as old as the oldest"
    assert above.fold is True
    assert [row.under for row in under] == [above.key] * 3
    assert plain_text(rows[0].cells[1]).strip() == "3", "the heading counts decisions, not lines"


def test_one_of_a_kind_or_without_a_fingerprint_or_of_another_host_is_no_group() -> None:
    stories = [limited(1, fingerprint=""), limited(2, fingerprint=""), limited(3), limited(4)]
    waiting = waiting_of(*stories)
    where = {"run-3": "east", "run-4": "west"}.get
    rows = inbox_rows({}, waiting, RenderContext(START), lambda run_id: where(run_id, ""))
    assert [row.fold for row in rows if not row.heading] == [None] * 4
    assert len({group_key(found, where(found.run_id, "")) for found in waiting}) == 4
    assert [found.run_id for found in group_members("incident:run-3-inc-1", waiting)] == ["run-3", "run-4"]
    assert group_members("incident:nobody", waiting) == []


def test_a_row_is_made_anew_only_when_it_says_something_else() -> None:
    stories, memory = [digest(), limited(2, fingerprint="b"), finished()], RowCache()
    summaries, waiting = summaries_of(*stories), waiting_of(*stories)

    def rows(seconds: float) -> list[Any]:
        context = RenderContext(START + timedelta(seconds=seconds))
        return [row for row in inbox_rows(summaries, waiting, context, memory=memory) if not row.heading]

    first, again = rows(3620), rows(3621)
    assert all(one is other for one, other in zip(first, again, strict=True))
    summaries["run-1"] = replace(summaries["run-1"], steps=99)
    changed = [one.key for one, other in zip(first, rows(3622), strict=True) if one is not other]
    assert changed == ["run:run-1"]
    assert len([1 for one, other in zip(first, rows(9000), strict=True) if one is not other]) >= 4, "ages went on"


async def test_a_group_unfolds_and_enter_opens_its_oldest() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in (3, 1, 2)]) as (pilot, _):
        assert "3 alike" in text_of(pilot)
        assert text_of(pilot).count("◆ needs you") == 1
        await pilot.press("enter")
        await pilot.pause()
        assert (pilot.app.opened[-1].run_id, pilot.app.opened[-1].incident_id) == ("run-1", "run-1-inc-1")  # type: ignore[attr-defined]
        await pilot.press("right")
        await drawn(pilot)
        assert text_of(pilot).count("◆ needs you") == 4
        await pilot.press("down", "down", "enter")
        await pilot.pause()
        assert pilot.app.opened[-1].run_id == "run-2"  # type: ignore[attr-defined]
        await pilot.press("left")
        await pilot.pause()
        assert pilot.app.screen.row_list.cursor_key.startswith("group:")  # type: ignore[attr-defined]
        await pilot.press("space")
        await drawn(pilot)
        assert text_of(pilot).count("◆ needs you") == 1


async def test_beside_the_list_a_group_names_its_runs() -> None:
    async with showing(InboxScreen, *[limited(n, n) for n in range(1, 20)], size=(200, 60)) as (pilot, _):
        text = text_of(pilot)
        assert "19 alike" in text
        assert "chapter 12 · " in text
        assert "and 7 more" in text
    assert preview_lines("group::gone", {}, {}, RenderContext(START)) == []


# -- filter, sort, selection -----------------------------------------------------------------------------------


async def test_the_filter_says_how_many_it_leaves_out_and_comes_back_as_it_was() -> None:
    async with showing(InboxScreen, digest(), finished(), size=(80, 24)) as (pilot, _):
        await press(pilot, "slash", *"manual", then="/manual · 2 left out")
        await press(pilot, "enter", "escape", then=lambda: "left out" not in text_of(pilot))
        assert "weekly digest" in text_of(pilot)
        await press(pilot, "slash", then="/manual · 2 left out")
        await press(pilot, *"!(", "enter", then="not a valid regular expression: missing )")
        assert "weekly digest" in text_of(pilot)


async def test_the_cursor_is_back_on_its_row_once_the_filter_shows_it_again() -> None:
    async with showing(InboxScreen, digest(), limited(7, 3), size=(80, 24)) as (pilot, link):
        rows = pilot.app.screen.query_one("#list", RowList)
        where = next(f"incident:{key}" for key, found in link.incidents.items() if found.run_id == "run-7")
        assert rows.go_to(where)
        await drawn(pilot)
        await press(pilot, "slash", *"!rate", then="/!rate")  # on the way there `!r` leaves no row at all
        assert where not in rows.keys
        assert rows.cursor_key not in ("", where)
        await press(pilot, *"x", then=lambda: rows.cursor_key == where)


async def test_a_row_that_is_chosen_while_a_filter_is_typed_keeps_the_cursor() -> None:
    async with showing(InboxScreen, digest(), limited(7, 3), size=(80, 24)) as (pilot, _):
        rows = pilot.app.screen.query_one("#list", RowList)
        await press(pilot, "slash", then=lambda: isinstance(pilot.app.focused, PatternInput))
        free = (key for at, key in enumerate(rows.keys) if rows.selectable(at) and key != rows.cursor_key)
        other = next(free)
        await pilot.click(rows, offset=(8, rows.index_of(other)))
        await until(pilot, lambda: rows.cursor_key == other)
        rows.screen.query_one(PatternInput).focus()
        await press(pilot, *"e", then="/e")
        await drawn(pilot)
        assert rows.cursor_key == other


async def test_the_filter_goes_through_inputs_and_results_that_no_row_shows() -> None:
    asked = finished()
    asked.state.output = "The quetzal nests in March."
    for screen in (InboxScreen, SwarmsScreen):
        async with showing(screen, digest(), asked, size=(80, 24)) as (pilot, _):
            await until(pilot, lambda: "weekly digest" in text_of(pilot))
            await pilot.press("slash", *"quetzal")
            await until(pilot, lambda: "translate manual" in text_of(pilot) and "weekly digest" not in text_of(pilot))
            await press(pilot, *"x", then=lambda: "translate manual" not in text_of(pilot))
            await press(pilot, "escape", then="weekly digest")


async def test_a_filter_goes_on_without_a_runtime_through_what_is_shown() -> None:
    async with showing(InboxScreen, digest(), finished(), size=(80, 24)) as (pilot, link):
        link.lose("the runtime was stopped")
        await press(pilot, "slash", *"manual", then="/manual · 2 left out")
        await until(pilot, lambda: "Only what is shown is searched" in text_of(pilot))


async def test_faults_only_and_sorting_by_the_columns() -> None:
    dear = limited(7, 3, usd=2.0)
    dear.open("agent", "editor", dear.state.roots[0], 1)  # at work, while the other waits for a person
    async with showing(InboxScreen, digest(), finished(), dear, size=(120, 24)) as (pilot, _):
        await pilot.press("F")
        await drawn(pilot)
        assert "faults only · 1 left out" in text_of(pilot)
        assert "translate manual" not in text_of(pilot)
        await pilot.press("F", "o", "o", "o", "o", "o")
        await drawn(pilot)
        assert "cost↑" in text_of(pilot).splitlines()[1]
        working = text_of(pilot).partition("Working")[2]
        assert working.index("weekly digest") < working.index("chapter 7")
        await pilot.press("O")
        await drawn(pilot)
        assert "cost↓" in text_of(pilot).splitlines()[1]
        working = text_of(pilot).partition("Working")[2]
        assert working.index("chapter 7") < working.index("weekly digest")


async def confirmed(pilot: Pilot[None], key: str, question: str) -> None:
    """Press a key and confirm what it asks."""
    await press(pilot, key, then=lambda: question in text_of(pilot) and "takes keys" not in text_of(pilot))
    await pilot.press("y")


async def test_what_is_selected_is_frozen_together_and_aborted_after_its_number_was_said() -> None:
    stories = [limited(n, n, fingerprint=f"f{n}") for n in (1, 2, 3)]
    async with showing(InboxScreen, *stories, finished(), size=(140, 40)) as (pilot, link):
        await pilot.press("space", "space")
        await drawn(pilot)
        assert "2 selected" in text_of(pilot)
        await confirmed(pilot, "p", "Freeze 2 runs?")
        await until(pilot, lambda: "2 frozen" in text_of(pilot))
        await press(pilot, "escape", then=InboxScreen)
        await confirmed(pilot, "p", "Thaw 2 runs?")
        await until(pilot, lambda: "2 thawed" in text_of(pilot))
        await press(pilot, "escape", then=InboxScreen)
        await press(pilot, "ctrl+a", "A", then="Abort 3 runs?")
        await press(pilot, "enter", "n", then=InboxScreen)
        assert not any(verb == "abort" for verb, _ in link.said)
        await press(pilot, "A", then=BatchActionScreen)
        stories[1].finish("failed", error="too late")
        await press(pilot, "y", then="2 aborting, 1 refused")
        assert "has ended: it is failed" in line_with(pilot, "✗ refused")
        await press(pilot, "escape", then=InboxScreen)
        await pilot.press("escape")
        await drawn(pilot)
        assert "selected" not in text_of(pilot)
        ended = [args["run_id"] for verb, args in link.said if verb == "abort"]
        assert sorted(ended) == ["run-1", "run-2", "run-3"]


async def test_a_page_that_is_closed_stops_nothing_and_what_came_of_it_is_said() -> None:
    stories = [limited(n, n, fingerprint=f"f{n}") for n in (1, 2, 3)]
    async with showing(InboxScreen, *stories, size=(140, 40)) as (pilot, link):
        go_on = asyncio.Event()
        real = link.command

        async def slow(verb: str, /, **args: Any) -> Any:
            if verb == "freeze":
                await go_on.wait()
            return await real(verb, **args)

        link.command = slow  # type: ignore[method-assign]
        await pilot.press("ctrl+a")
        await confirmed(pilot, "p", "Freeze 3 runs?")
        await until(pilot, lambda: "1 under way, 2 not yet" in text_of(pilot))
        await press(pilot, "escape", then=InboxScreen)
        go_on.set()
        await until(pilot, lambda: "Freeze 3 runs: 3 frozen" in text_of(pilot))


async def test_one_run_is_frozen_by_a_key_and_thawed_by_the_same() -> None:
    async with showing(InboxScreen, limited(1)) as (pilot, link):
        await confirmed(pilot, "p", "Freeze the run chapter 1?")
        await until(pilot, lambda: "1 frozen" in text_of(pilot))
        await pilot.press("escape")
        await confirmed(pilot, "p", "Thaw the run chapter 1?")
        await until(pilot, lambda: "1 thawed" in text_of(pilot))
        await pilot.press("escape")
        link.refuses["freeze"] = "a viewer may look, not act"
        await confirmed(pilot, "p", "Freeze the run chapter 1?")
        await until(pilot, lambda: "a viewer may look" in text_of(pilot))


async def test_a_login_that_may_only_look_is_offered_no_answer() -> None:
    async with showing(InboxScreen, limited(1), limited(2), size=(140, 40)) as (pilot, link):
        assert " u      Wait and retry" in text_of(pilot)
        assert "B answers one" in text_of(pilot)
        link.role = "viewer"
        link.changed()
        await until(pilot, lambda: "an operator decides" in text_of(pilot))
        assert " u      Wait and retry" not in text_of(pilot)
        assert "B answers one" not in text_of(pilot)
        await pilot.press("u")
        await until(pilot, lambda: "this login may only look" in text_of(pilot))


async def test_a_decision_that_came_is_marked_as_new() -> None:
    story = digest()
    async with showing(InboxScreen, story) as (pilot, link):
        assert not line_with(pilot, "asks permission").startswith("+")
        new = limited(8, 60)
        link.stories[new.run_id] = new
        await changed(pilot, link, then="rate limited")
        assert line_with(pilot, "rate limited").startswith("+")
        new.wait(120)
        link.changed()
        await drawn(pilot)
        assert line_with(pilot, "rate limited").startswith(" ")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_with_no_runs_the_inbox_says_how_to_start_one(size: tuple[int, int]) -> None:
    async with showing(InboxScreen, size=size) as (pilot, _):
        assert all(line in text_of(pilot) for line in first_use_text(RenderContext(START)).splitlines())


async def test_the_key_that_starts_a_run_elsewhere_says_here_where_it_does() -> None:
    async with showing(InboxScreen, finished()) as (pilot, _):
        assert "opens the runs" not in text_of(pilot)
        await press(pilot, "s", then="2 opens the runs: s starts one there.")
