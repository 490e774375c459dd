"""Keys that a slow link delivers together do what they would have done one by one."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from console.app.app import OrbiterApp
from screens.dialogs.start_form import StartScreen
from screens.pages.swarms import SwarmsScreen
from screens.shell.context import ConsoleContext
from tests.screens.lonely import text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.waiting import press, until


@asynccontextmanager
async def form() -> AsyncIterator[tuple[Pilot[Any], MemoryLink]]:
    """A console with the form that starts a run."""
    link = MemoryLink()
    link.refs = ["a.py:b", "a.py:bc"]
    app = OrbiterApp(ConsoleContext(link, clock=lambda: link.now, arm_after=0.0))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "2 s    starts a run" in text_of(pilot))
        await press(pilot, "2", then=lambda: isinstance(app.screen, SwarmsScreen))
        await press(pilot, "s", then=lambda: isinstance(app.screen, StartScreen) and "a.py:bc" in text_of(pilot))
        yield pilot, link


def typed(*keys: str) -> list[events.Event]:
    return [events.Key(key, key if len(key) == 1 else None) for key in keys]


def deliver(app: Any, given: list[events.Event]) -> None:
    """As the driver hands over what came in one read."""
    for event in given:
        app.post_message(event)


async def test_a_backspace_takes_the_letter_before_it_and_not_those_after() -> None:
    async with form() as (pilot, _):
        deliver(pilot.app, typed(*"abd", "backspace", *"cx", "ctrl+u", *"yz", "home", "w"))
        await until(pilot, lambda: pilot.app.screen.query_one("#ref", Input).value == "wyz")


async def test_what_follows_tab_is_typed_into_the_next_field_and_a_paste_keeps_its_place() -> None:
    async with form() as (pilot, link):
        keys = [*typed(*"a.py:b", "tab", *"on"), events.Paste("e two"), *typed("enter", *"three", "tab", *"mine")]
        deliver(pilot.app, [*keys, *typed("ctrl+s")])
        await until(pilot, lambda: any(verb == "start" for verb, _ in link.said))
        started = next(args for verb, args in link.said if verb == "start")
        assert (started["ref"], started["input"], started["title"]) == ("a.py:b", "one two\nthree", "mine")


async def test_a_key_whose_field_is_gone_or_busy_keeps_no_other_from_working() -> None:
    async with form() as (pilot, _):
        field = pilot.app.screen.query_one("#title", Input)
        pilot.app.screen.set_focus(field)
        deliver(pilot.app, typed("x"))
        await field.remove()
        deliver(pilot.app, typed(*"q", "escape"))
        await until(pilot, lambda: isinstance(pilot.app.screen, SwarmsScreen))
