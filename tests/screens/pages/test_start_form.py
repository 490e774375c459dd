"""The form that starts a run: suggestions, limits, queues, and what it keeps of what was typed."""

from __future__ import annotations

import msgspec
import pytest
from textual import events

from console.app.app import OrbiterApp
from runtime.link.client.client import LinkStatus
from runtime.operations.requests.workers import WorkerList
from screens.dialogs.start_form import StartScreen
from screens.pages.run import RunScreen
from screens.pages.swarms import SwarmsScreen
from screens.render.layout import plain_text
from screens.shell.context import ConsoleContext
from screens.views.lists.start import (
    InvalidLimits,
    known_refs,
    parse_limits,
    suggested_refs,
)
from screens.views.shared.render_context import RenderContext
from tests.screens.lonely import line_with, showing, text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.pages.swarm_runs import workflow
from tests.screens.stories import START, limited, summaries_of
from tests.screens.waiting import drawn, until


def test_suggestions_are_earlier_swarms_then_those_in_files() -> None:
    found = summaries_of(workflow(1, 1), limited(9, 60))
    known = known_refs(found.values(), "/work")
    assert known == ["digest.py:swarm", "translate.py:swarm"]
    assert known_refs(found.values(), "/elsewhere")[0] == "/work/digest.py:swarm"
    context = RenderContext(START)
    rows = suggested_refs("", known, ["new.py:team", "digest.py:swarm"], context)
    assert [(row.key, plain_text(row.cells[2])) for row in rows] == [
        ("digest.py:swarm", "run before"),
        ("translate.py:swarm", "run before"),
        ("new.py:team", "not run yet"),
    ]
    assert [row.key for row in suggested_refs("team", known, ["new.py:team"], context)] == ["new.py:team"]
    assert suggested_refs("new.py:team", known, ["new.py:team"], context) == []


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("", {}),
        ("max_steps=20 max_total_cost_usd=0.5", {"max_steps": 20, "max_total_cost_usd": 0.5}),
        ("max_steps=20, max_wall_time_s=1e3", {"max_steps": 20, "max_wall_time_s": 1000.0}),
    ],
)
def test_limits_are_names_and_numbers(text: str, limits: dict[str, float]) -> None:
    assert parse_limits(text) == limits


@pytest.mark.parametrize("text", ["max_steps", "max_steps=", "max_steps=many", "20"])
def test_what_is_no_limit_is_said(text: str) -> None:
    with pytest.raises(InvalidLimits, match="write name=number"):
        parse_limits(text)


async def test_where_workers_have_queues_the_form_has_a_field_for_one() -> None:
    at = "2026-01-01T00:00:00Z"
    workers = [
        {"id": f"w{number}", "state": "working", "place": f"host:{number}", "slots": 4, "driving": [], "code": "",
         "queues": queues, "keys": [], "program": "", "alive_since": at, "heard_s": 1.0, "held_up": ""}
        for number, queues in enumerate((["default"], ["gpu", "default"]))
    ]  # fmt: skip
    assert msgspec.convert({"workers": workers[:1]}, WorkerList).named_queues == (), (
        "one machine's form has no such field"
    )
    async with showing(SwarmsScreen, workflow(1, 1), size=(80, 24)) as (pilot, link):
        link.workers = {"workers": workers}
        await pilot.press("s")
        await until(pilot, lambda: "default, gpu; empty: as the swarm says" in text_of(pilot))
        await pilot.press("tab", *"go", "tab", "tab", *"gpu", "ctrl+s")
        await until(pilot, lambda: any(verb == "start" for verb, _ in link.said))
        started = next(args for verb, args in link.said if verb == "start")
        assert (started["input"], started["queue"]) == ("go", "gpu")


async def test_s_starts_the_swarm_under_the_cursor_and_opens_the_run_when_it_is_there() -> None:
    async with showing(SwarmsScreen, workflow(1, 1), size=(80, 24)) as (pilot, link):
        link.refs = ["new.py:team"]
        await pilot.press("s")
        await until(pilot, lambda: "new.py:team" in text_of(pilot))
        assert "translate.py:swarm" in line_with(pilot, "Swarm ")
        await pilot.press("tab", *"two", "enter", *"lines", "tab", *"mine", "tab", *"max_steps=5", "ctrl+s")
        await until(pilot, lambda: bool(pilot.app.opened))  # type: ignore[attr-defined]
        assert isinstance(pilot.app.screen, SwarmsScreen)
        started = next(args for verb, args in link.said if verb == "start")
        assert started == {
            "ref": "translate.py:swarm",
            "input": "two\nlines",
            "title": "mine",
            "options": {"budget": {"max_steps": 5}},
        }
        assert pilot.app.opened[-1].run_id == "started-1"  # type: ignore[attr-defined]


async def test_in_the_console_2_then_s_starts_a_run_and_shows_it() -> None:
    link = MemoryLink()
    link.refs = ["one.py:a"]
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now, arm_after=0.0))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "2 s    starts a run" in text_of(pilot))
        await pilot.press("2")
        await until(pilot, lambda: "s starts one" in text_of(pilot) and isinstance(app.screen, SwarmsScreen))
        await pilot.press("s")
        await until(pilot, lambda: "one.py:a" in text_of(pilot))
        await pilot.press("down", "enter", *"go", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, RunScreen))
        assert link.watched == ["started-0"]
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, SwarmsScreen))
        await drawn(pilot)
        assert "one.py:a" in text_of(pilot)


async def test_a_suggestion_is_taken_with_the_arrow_keys() -> None:
    async with showing(SwarmsScreen) as (pilot, link):
        link.refs = ["one.py:a", "two.py:b"]
        await pilot.press("s")
        await until(pilot, lambda: "two.py:b" in text_of(pilot))
        await pilot.press(*"two", "down", "up", "down", "enter")
        await pilot.press(*"go", "ctrl+s")
        await until(pilot, lambda: any(verb == "start" for verb, _ in link.said))
        started = next(args for verb, args in link.said if verb == "start")
        assert (started["ref"], started["input"], "options" in started) == ("two.py:b", "go", False)


async def test_tab_passes_by_suggestions_whatever_is_suggested_by_then() -> None:
    async with showing(SwarmsScreen, size=(100, 30)) as (pilot, link):
        link.refs = ["new.py:swarmy"]
        await pilot.press("s", *"new.py:swarm")
        await pilot.press("tab", *"the input", "shift+tab", "x", "tab", "ctrl+s")
        await until(pilot, lambda: any(verb == "start" for verb, _ in link.said))
        started = next(args for verb, args in link.said if verb == "start")
        assert (started["ref"], started["input"]) == ("new.py:swarmx", "the input")


async def test_typing_and_pasting_into_the_suggestions_go_on_in_the_field() -> None:
    async with showing(SwarmsScreen) as (pilot, link):
        link.refs = ["jk.py:a", "two.py:b"]
        await pilot.press("s")
        await until(pilot, lambda: "two.py:b" in text_of(pilot))
        await pilot.press("down", *"jk")
        assert "jk" in line_with(pilot, "Swarm ")
        await pilot.press("down")
        pilot.app.post_message(events.Paste(".py:a\nand a second line"))
        await until(pilot, lambda: "jk.py:a" in line_with(pilot, "Swarm "))
        await until(pilot, lambda: "Found." in text_of(pilot))
        assert "Nothing to suggest" not in text_of(pilot)
        await pilot.press("tab", *"go", "ctrl+s")
        await until(pilot, lambda: any(verb == "start" for verb, _ in link.said))
        started = next(args for verb, args in link.said if verb == "start")
        assert (started["ref"], started["input"]) == ("jk.py:a", "go")


async def test_what_stands_in_the_form_already_is_replaced_by_typing() -> None:
    async with showing(SwarmsScreen, workflow(1, 1)) as (pilot, link):
        link.refs = ["new.py:team"]
        await pilot.press("s")
        await until(pilot, lambda: "new.py:team" in text_of(pilot))
        await pilot.press(*"new.py:team")
        assert "translate" not in line_with(pilot, "Swarm ")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: any(verb == "start" for verb, _ in link.said))
        assert next(args["ref"] for verb, args in link.said if verb == "start") == "new.py:team"


async def test_without_a_runtime_the_form_says_so_at_once_and_asks_for_nothing() -> None:
    async with showing(SwarmsScreen) as (pilot, link):
        link.status = LinkStatus("lost", "the runtime went away")
        await pilot.press("s")
        await until(pilot, lambda: "No runtime, b outside of here" in text_of(pilot))
        await pilot.press(*"typo.py:x", "ctrl+s")
        await pilot.pause()
        assert "typo.py:x" in text_of(pilot)
        assert not link.said


async def test_on_a_tiny_terminal_the_field_with_the_focus_and_what_is_said_are_in_sight() -> None:
    async with showing(SwarmsScreen, size=(40, 10)) as (pilot, _):
        await pilot.press("s", "x", "tab", "tab", "tab", *"no-limit", "ctrl+s")
        await until(pilot, lambda: "no-limit: write" in text_of(pilot))
        assert "no-limit" in line_with(pilot, "Limits")


async def test_what_the_runtime_says_stands_in_the_form_and_nothing_typed_is_lost() -> None:
    async with showing(SwarmsScreen, size=(100, 30)) as (pilot, link):
        link.refuses["check"] = "typo.py, line 2: '(' was never closed: correct it and try again"
        await pilot.press("s", "ctrl+s")
        await until(pilot, lambda: "Say which swarm" in text_of(pilot))
        await pilot.press(*"typo.py:x", "tab", *"my input", "tab", "tab", *"max_steps", "ctrl+s")
        await until(pilot, lambda: "write name=number" in text_of(pilot))
        await pilot.press(*"=2", "ctrl+s")
        await until(pilot, lambda: "typo.py, line 2" in text_of(pilot))
        for typed in ("typo.py:x", "my input", "max_steps=2"):
            assert typed in text_of(pilot)
        assert not any(verb == "start" for verb, _ in link.said)
        link.refuses = {"start": "budget max_step: Extra inputs are not permitted"}
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "budget max_step" in text_of(pilot))
        link.refuses = {}
        await pilot.press("ctrl+s")
        await until(pilot, lambda: bool(pilot.app.opened))  # type: ignore[attr-defined]


async def test_esc_leaves_and_what_was_typed_stands_in_the_next_form_until_it_is_emptied() -> None:
    async with showing(SwarmsScreen, workflow(1, 1), size=(100, 30)) as (pilot, link):
        for keys in (["escape"], ["tab", *"some", "enter", *"text", "tab", *"mine", "escape"]):
            await pilot.press("s")
            await until(pilot, lambda: isinstance(pilot.app.screen, StartScreen))
            await pilot.press(*keys)
            await until(pilot, lambda: isinstance(pilot.app.screen, SwarmsScreen))
        await pilot.press("s")
        await until(pilot, lambda: "As you left it" in text_of(pilot))
        assert "translate.py:swarm" in line_with(pilot, "Swarm ")
        assert "mine" in line_with(pilot, "Title")
        await pilot.press("ctrl+n", *"a.py:b", "ctrl+s")
        await until(pilot, lambda: any(verb == "start" for verb, _ in link.said))
        started = next(args for verb, args in link.said if verb == "start")
        assert started == {"ref": "a.py:b"}
        await until(pilot, lambda: isinstance(pilot.app.screen, SwarmsScreen))
        await pilot.press("s")
        await until(pilot, lambda: isinstance(pilot.app.screen, StartScreen))
        assert "As you left it" not in text_of(pilot)


async def test_a_limit_is_judged_where_it_is_typed_and_its_name_written_out() -> None:
    async with showing(SwarmsScreen, size=(80, 24)) as (pilot, link):
        await pilot.press("s", *"a.py:b", "tab", "tab", "tab", *"max_stepz=3")
        assert "no limit is called" not in text_of(pilot), "not before it is typed to its end"
        await pilot.press("tab")
        await until(pilot, lambda: "no limit is called 'max_stepz'" in text_of(pilot))
        assert "max_wall_time_s" in text_of(pilot), "the whole sentence is read"
        await pilot.press("shift+tab", "end", *["backspace"] * len("epz=3"))
        await until(pilot, lambda: "write name=number" in text_of(pilot))
        await pilot.press("e")
        await until(pilot, lambda: "max_steps=" in text_of(pilot))
        await pilot.press("right", "0", "tab")
        await until(pilot, lambda: "a whole number of 1 or more" in text_of(pilot))
        await pilot.press("shift+tab", "end", "backspace", "7")
        await until(pilot, lambda: "or more" not in text_of(pilot))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: any(verb == "start" for verb, _ in link.said))
        assert next(args["options"] for verb, args in link.said if verb == "start") == {"budget": {"max_steps": 7}}


async def test_without_an_answer_about_files_there_is_what_was_run_before() -> None:
    async with showing(SwarmsScreen, workflow(1, 1), limited(9), size=(100, 30)) as (pilot, link):
        link.refuses["swarms"] = "no command is called 'swarms'"
        await pilot.press("s")
        await until(pilot, lambda: "The workspace's swarms are not known" in text_of(pilot))
        assert "/work/digest.py:swarm" in text_of(pilot)


async def test_on_several_hosts_the_form_asks_which() -> None:
    async with showing(SwarmsScreen, workflow(1, 1), size=(100, 30)) as (pilot, link):
        link.host_names = ("east", "west")
        link.hosts = {"run-1": "west"}
        link.changed()
        await drawn(pilot)
        await pilot.press("s")
        await until(pilot, lambda: "west" in line_with(pilot, "Host"))
        await pilot.press("tab", "tab", "x", "tab")
        await until(pilot, lambda: "no host is called westx; there are: east, west" in text_of(pilot))
        await pilot.press("shift+tab", "end", "backspace", "ctrl+s")
        await until(pilot, lambda: any(verb == "start" for verb, _ in link.said))
        assert next(args for verb, args in link.said if verb == "start")["where"] == "west"


async def test_a_viewer_looks_and_is_told_who_acts() -> None:
    async with showing(SwarmsScreen, workflow(1, 1)) as (pilot, link):
        link.role = "viewer"
        for key in ("s", "p", "A"):
            await pilot.press("down", key)
            await pilot.pause()
            assert "A viewer may look, not act" in text_of(pilot)
        assert isinstance(pilot.app.screen, SwarmsScreen)
        assert link.said == []
