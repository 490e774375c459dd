"""The command palette, places and history: key by key on runs told event by event."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from console.app.app import OrbiterApp
from console.preferences.keymap import build_keymap
from console.preferences.schema import Preferences
from runtime.link.client.client import LinkQuality
from screens.base.runtime_screen import RuntimeScreen
from screens.base.screen_registry import SCREENS
from screens.dialogs.batch_action import BatchActionScreen
from screens.dialogs.palette import PaletteScreen
from screens.dialogs.palette_commands import palette_commands
from screens.pages.inbox import InboxScreen
from screens.pages.run import RunScreen
from screens.shell.context import ConsoleContext
from screens.shell.key_actions import actions
from screens.views.lists.commands import CommandKind, matching_commands
from screens.widgets.node_tree import NodeTree
from tests.console.app.console_bench import console, redrawn, settled, text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import Story, digest, finished
from tests.screens.waiting import press, until


def here(pilot: Pilot[None]) -> RuntimeScreen:
    screen = pilot.app.screen
    assert isinstance(screen, RuntimeScreen)
    return screen


async def asked(pilot: Pilot[None], typed: str) -> None:
    """Open the palette and type."""
    await press(pilot, "colon", then=PaletteScreen)
    await pilot.pause()
    pilot.app.screen.query_one(Input).value = typed
    await pilot.pause()


def going(title: str = "long haul") -> Story:
    story = Story("run-7", title)
    story.start("llm", "gpt", story.open("agent", "a", story.begin()))
    return story


async def test_the_palette_lists_what_can_be_done_here_with_its_keys() -> None:
    async with console(digest(), run_id="run-1", size=(110, 40)) as (pilot, _):
        await asked(pilot, "zoom")
        assert any("zoom" in line and " z " in line for line in text_of(pilot).splitlines())
        await press(pilot, "enter", then=RunScreen)
        await until(pilot, lambda: here(pilot).query_one("#panes").has_class("-tree"))


async def test_without_text_places_and_decisions_stand_first_and_movement_last() -> None:
    async with console(digest(), finished()) as (pilot, link):
        names = [command.name for command in palette_commands(here(pilot))]
        waiting = next(iter(link.incidents.values())).run_id
        places = len(SCREENS)
        assert names[:places] == ["runs" if name == "swarms" else name for name in SCREENS]
        assert names[places].startswith("run ")
        assert names[places].endswith(waiting)
        assert names.index("filter") < names.index("help") < names.index("theme orbiter-dark") < names.index("down")
        assert {"down", "up", "page down", "first", "last"} <= set(names[names.index("down") :])
        await asked(pilot, waiting)
        await press(pilot, "enter", then=RunScreen)
        assert here(pilot).incident_id


@pytest.mark.parametrize("key", ["colon", "ctrl+p"])
async def test_both_keys_open_it_and_escape_leaves_it(key: str) -> None:
    async with console(digest()) as (pilot, link):
        await press(pilot, key, then=PaletteScreen)
        await press(pilot, "escape", then=InboxScreen)
        assert link.said == []


async def test_a_run_is_found_by_its_title_and_by_its_id() -> None:
    async with console(digest(), finished()) as (pilot, _):
        for typed in ("run manual", "run-0", "run run-0"):
            await asked(pilot, typed)
            await press(pilot, "enter", then=RunScreen)
            assert here(pilot).run_here == "run-0"
            await press(pilot, "1", then=InboxScreen)


async def test_every_title_as_typed_goes_to_its_run_and_changes_none() -> None:
    titles = ("Plan three days in Basel", "freeze", "abort everything", "the theme", "thaw")
    stories = []
    for number, title in enumerate(titles):
        story = Story(f"run-{number}", title)
        story.start("llm", "gpt", story.open("agent", "a", story.begin()))
        stories.append(story)
    async with console(*stories, size=(110, 40)) as (pilot, link):
        commands = palette_commands(here(pilot))
        for title in (*titles, "Basel", "plan basel", "three d"):
            assert matching_commands(commands, title)[0].kind is CommandKind.RUN, title
        kinds = [command.kind for command in matching_commands(commands, "b")]
        assert kinds.index(CommandKind.ACT_ELSEWHERE) > kinds.index(CommandKind.RUN)
        await asked(pilot, "Basel")
        await press(pilot, "enter", then=RunScreen)
        assert here(pilot).run_here == "run-0"
        assert link.said == []


async def test_what_acts_asks_first() -> None:
    async with console(going(), size=(110, 40)) as (pilot, link):
        acting = [command for command in palette_commands(here(pilot)) if command.kind >= CommandKind.ACT]
        assert {command.name.partition(" ")[0] for command in acting} >= {"freeze", "abort", "thaw"}
        for typed in ("freeze everything", "thaw everything", "abort long haul run-7", "freeze long haul run-7"):
            await asked(pilot, typed)
            await press(pilot, "enter", then=BatchActionScreen)
            assert link.said == []
            await press(pilot, "escape", then=InboxScreen)


async def test_an_unknown_word_is_said_with_the_nearest_one() -> None:
    async with console(digest()) as (pilot, _):
        await asked(pilot, "inbxo")
        await pilot.press("enter")
        await pilot.pause()
        assert "No command is called 'inbxo': did you mean inbox?" in text_of(pilot)
        await pilot.press("escape")


async def test_what_cannot_be_done_now_says_why() -> None:
    async with console(digest(), size=(120, 40)) as (pilot, _):
        await asked(pilot, "revive")
        assert "the runtime is there" in text_of(pilot)
        await press(pilot, "enter", then="revive cannot be done now")
        assert isinstance(pilot.app.screen, PaletteScreen)


async def test_quit_is_a_command_too() -> None:
    async with console(digest()) as (pilot, _):
        await asked(pilot, "q")
        await press(pilot, "enter", then=lambda: not pilot.app.is_running)
        assert pilot.app.return_code == 0


async def test_a_theme_is_chosen_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    async with console(digest()) as (pilot, _):
        await asked(pilot, "theme orbiter-light")
        await press(pilot, "enter", then=lambda: pilot.app.theme == "orbiter-light")
        await until(pilot, lambda: "theme orbiter-light" in text_of(pilot))
    assert (tmp_path / "orbiter" / "theme").read_text() == "orbiter-light\n"


async def test_freeze_and_thaw_of_the_run_that_is_shown() -> None:
    async with console(going(), run_id="run-7") as (pilot, link):
        await asked(pilot, "freeze")
        await press(pilot, "enter", then=lambda: type(pilot.app.screen).__name__ == "ConfirmActionScreen")
        await press(pilot, "y", then=lambda: [verb for verb, _ in link.said] == ["freeze"])
        await until(pilot, lambda: isinstance(pilot.app.screen, RunScreen))
        await asked(pilot, "thaw")
        await press(pilot, "enter", then="y does it")
        await press(pilot, "y", then=lambda: [verb for verb, _ in link.said] == ["freeze", "thaw"])


async def test_abort_and_freeze_of_everything_ask_first() -> None:
    async with console(going(), size=(110, 36)) as (pilot, link):
        for typed, verb, args in (("abort long", "abort", {"run_id": "run-7"}), ("freeze every", "freeze", {})):
            await asked(pilot, typed)
            await press(pilot, "enter", then="y does it")
            await pilot.press("escape")
            assert link.said == []
            await asked(pilot, typed)
            await press(pilot, "enter", then="y does it")
            await pilot.press("y")
            await until(pilot, lambda said=(verb, args): link.said == [said])  # type: ignore[misc]
            await pilot.press("escape")
            link.said.clear()


async def test_names_are_told_apart_and_no_decision_is_among_them() -> None:
    async with console(digest(), going(), run_id="run-1") as (pilot, _):
        found = palette_commands(here(pilot))
        names = [command.name for command in found]
        assert len(names) == len(set(names))
        assert {"inbox", "next decision", "quit", "freeze everything", "theme orbiter-dark"} <= set(names)
        assert not {"grant", "deny", "retry"} & set(names)


async def test_a_host_that_is_lost_keeps_an_order_to_all_from_no_other_and_is_named() -> None:
    async with console(going(), size=(130, 36)) as (pilot, link):
        link.lose("two: gone")
        (found,) = (each for each in palette_commands(here(pilot)) if each.name == "freeze everything")
        assert found.why_not == "no runtime is connected"
        link.host_names = ("one",)
        link.qualities = (LinkQuality("one", "connected"), LinkQuality("two", "lost"))
        await asked(pilot, "freeze every")
        await press(pilot, "enter", then="y does it")
        assert "every run (but not on two: out of reach)" in text_of(pilot)
        await press(pilot, "y", then=lambda: link.said == [("freeze", {})])


async def test_hostile_titles_are_shown_as_they_are() -> None:
    async with console(going("\x1b[31mred[/x] [b]bold"), size=(120, 36)) as (pilot, _):
        await asked(pilot, "bold")
        assert "␛[31mred[/x] [b]bold" in text_of(pilot)
        await pilot.press("escape")


# -- places and history ------------------------------------------------------------------------------------------------


async def test_each_place_has_its_digit_and_escape_leads_back() -> None:
    async with console(digest(), finished()) as (pilot, _):
        for place in SCREENS.values():
            await pilot.press(place.key)
            await until(pilot, lambda wanted=place: type(pilot.app.screen).__name__ == wanted.screen)  # type: ignore[misc]
            await redrawn(pilot)
            if place.name != "inbox":
                assert "orbiter" in text_of(pilot).splitlines()[0]
                await press(pilot, "escape", then=InboxScreen)


async def test_back_and_forward_in_history() -> None:
    async with console(digest(), finished()) as (pilot, link):
        await press(pilot, "end", "enter", then=RunScreen)
        await press(pilot, "left_square_bracket", then=InboxScreen)
        await until(pilot, lambda: link.watched == [])
        await press(pilot, "right_square_bracket", then=RunScreen)
        assert here(pilot).run_here == "run-0"
        await pilot.press("right_square_bracket")
        await pilot.pause()
        assert here(pilot).run_here == "run-0"


async def test_a_place_stays_as_it_was_left() -> None:
    async with console(digest(), finished(), run_id="run-0") as (pilot, _):
        await press(pilot, "1", then=InboxScreen)
        home = pilot.app.screen
        await press(pilot, "left_square_bracket", then=RunScreen)
        await press(pilot, "1", then=lambda: pilot.app.screen is home)


async def test_the_crumbs_of_a_run_name_the_place_that_one_came_from() -> None:
    async with console(digest(), finished(), run_id="run-1") as (pilot, _):
        assert "inbox" in text_of(pilot).splitlines()[0]
        assert "weekly digest" in text_of(pilot).splitlines()[0]


# -- configured keys ---------------------------------------------------------------------------------------------------


async def test_configured_keys_are_in_force_and_shown_wherever_keys_are() -> None:
    found = build_keymap(
        actions(),
        {"app": {"help": ["f9"], "next_decision": []}, "run": {"zoom": ["N"]}, "decision": {"abort": "Z"}},
    )
    link = MemoryLink(digest())
    session = ConsoleContext(link, clock=lambda: link.now, arm_after=0.0, letters=found.letters())
    app = OrbiterApp(session, run_id="run-1", preferences=Preferences(keymap=found))
    async with app.run_test(size=(110, 36)) as pilot:
        await settled(pilot)
        await until(pilot, lambda: "Abort execution" in text_of(pilot))
        text = text_of(pilot)
        assert " Z Abort execution" in text
        assert "f9 help" in text
        assert "n next" not in text.splitlines()[-1]
        pilot.app.screen.query_one(NodeTree).focus()
        await pilot.press("z", "n")
        assert not here(pilot).query_one("#panes").has_class("-tree")
        await pilot.press("N")
        assert here(pilot).query_one("#panes").has_class("-tree")
        await press(pilot, "f9", then="Keys")
        assert link.said == []


async def test_the_vim_preset_moves_as_vi_does_and_grants_with_another_letter() -> None:
    found = build_keymap(actions(), {"preset": "vim"})
    link = MemoryLink(digest())
    session = ConsoleContext(link, clock=lambda: link.now, arm_after=0.0, letters=found.letters())
    async with OrbiterApp(session, run_id="run-1", preferences=Preferences(keymap=found)).run_test() as pilot:
        await settled(pilot)
        tree = pilot.app.screen.query_one(NodeTree)
        tree.focus()
        await pilot.press("g", "g")
        assert tree.cursor_key == tree.keys[0]
        await pilot.press("G")
        assert tree.cursor_key == tree.keys[-1]
        assert link.said == []
        await press(pilot, "p", then=lambda: [verb for verb, _ in link.said] == ["answer"])
