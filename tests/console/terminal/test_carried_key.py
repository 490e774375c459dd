"""A key reaches what is bound to it, and what it changed is painted, within one turn of the event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

import pytest
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widget import Widget

from console.terminal.patched_app import PatchedApp


class Line(Widget, can_focus=True):
    """Notes what is done with a key. A mark is set in the next turn of the loop."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("j,p", "move", "Move")]

    def __init__(self) -> None:
        super().__init__()
        self.done: list[str] = []

    def on_key(self, event: events.Key) -> None:
        self.done.append(f"key {event.key}")
        asyncio.get_running_loop().call_soon(self.done.append, "next turn")
        if event.key == "s":
            event.stop()
        if event.key == "f":
            raise ValueError("a handler that fails")

    def action_move(self) -> None:
        self.done.append("moved")
        self.refresh()

    def render_line(self, y: int) -> Strip:
        if y == 0:
            self.done.append("painted")
        if "key p" in self.done:
            raise ValueError("a line that cannot be painted")
        return Strip.blank(self.size.width)


class Around(Vertical):
    class Work(Message):
        """Something that takes until `gate` is opened."""

    def __init__(self, line: Line) -> None:
        super().__init__(line)
        self.gate = asyncio.Event()
        self.done = line.done

    async def on_around_work(self) -> None:
        self.done.append("at work")
        await self.gate.wait()

    def on_key(self, event: events.Key) -> None:
        self.done.append(f"around {event.key}")


class Lined(PatchedApp):
    def __init__(self) -> None:
        super().__init__()
        self.line = Line()
        self.around = Around(self.line)
        self.failed: list[Exception] = []

    def compose(self) -> ComposeResult:
        yield self.around

    @property
    def keys_done(self) -> bool:
        return not self.message_queue_size and not self._keys._on_its_way

    def goes_on(self, error: Exception) -> bool:
        self.failed.append(error)
        return True


async def turns_until(found: Callable[[], bool]) -> None:
    """Let the loop turn. A pause of the pilot would give each widget something to do: no key is carried then."""
    while not found():  # noqa: ASYNC110 - it is the turns that count
        await asyncio.sleep(0)


async def after(pilot: Pilot[None], *keys: str) -> list[str]:
    """What was done with keys that came together."""
    await pilot.pause()
    app = pilot.app
    assert isinstance(app, Lined)
    app.line.done.clear()
    for key in keys:
        app.post_message(events.Key(key, key))
    await turns_until(lambda: app.keys_done)
    await pilot.pause()
    return app.line.done


async def test_a_key_and_its_frame_are_done_before_anything_else_has_its_turn() -> None:
    async with Lined().run_test() as pilot:
        assert (await after(pilot, "j"))[:5] == ["key j", "around j", "moved", "painted", "next turn"]


async def test_a_key_before_another_one_leaves_the_frame_to_that() -> None:
    async with Lined().run_test() as pilot:
        done = await after(pilot, "j", "j", "j")
        assert [what for what in done if what == "moved"] == ["moved"] * 3
        assert "painted" not in done[: done.index("key j", 1)]


async def test_a_parent_that_is_at_work_gets_the_key_when_that_is_done() -> None:
    app = Lined()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.line.done.clear()
        app.around.post_message(Around.Work())
        await turns_until(lambda: "at work" in app.line.done)
        app.post_message(events.Key("j", "j"))
        await turns_until(lambda: "next turn" in app.line.done)
        assert app.line.done == ["at work", "key j", "next turn"]
        app.around.gate.set()
        await pilot.pause()
        assert [what for what in app.line.done if what in ("around j", "moved")] == ["around j", "moved"]


async def test_a_key_that_is_stopped_goes_no_further() -> None:
    async with Lined().run_test() as pilot:
        assert [what for what in await after(pilot, "s") if "s" in what] == ["key s"]


async def test_a_handler_that_fails_is_told_to_the_app_and_takes_the_next_key() -> None:
    app = Lined()
    async with app.run_test() as pilot:
        done = await after(pilot, "f")
        assert "around f" not in done
        assert [str(error) for error in app.failed] == ["a handler that fails"]
        assert "moved" in await after(pilot, "j")


async def test_a_frame_that_fails_is_told_to_the_app_and_keeps_no_key() -> None:
    app = Lined()
    async with app.run_test() as pilot:
        await after(pilot, "p")
        assert [str(error) for error in app.failed] == ["a line that cannot be painted"]
        assert "moved" in await after(pilot, "j")


@pytest.mark.parametrize("removed", [False, True])
async def test_what_is_disabled_or_gone_keeps_no_later_key(removed: bool) -> None:
    app = Lined()
    async with app.run_test() as pilot:
        if removed:
            await app.line.remove()
        else:
            app.line.disabled = True
        await after(pilot, "j")
        assert app.keys_done
