"""Textual's app with the patches that concern the app: key order, errors of screens, closed widgets, the terminal.

Read against Textual 8.2.8.
"""

from __future__ import annotations

from typing import Any

from textual import events, on
from textual.app import App
from textual.await_remove import AwaitRemove
from textual.dom import DOMNode
from textual.driver import Driver
from textual.message import Message
from textual.screen import Screen
from textual.widget import AwaitMount, Widget

from console.terminal.error_patch import end_app, guard_handlers, is_ending, read_screen_styles
from console.terminal.key_queue import KeyQueue
from console.terminal.repaint_patch import (
    AwaitScreen,
    forget_repaint,
    install_repaint_patch,
    is_opaque,
    prepare_screen,
)
from console.terminal.stylesheet_patch import ParsedOnceStylesheet
from console.terminal.timer_patch import install_timer_patch
from console.terminal.watcher_patch import forget_closed_watchers


class PatchedApp(App[None]):
    """An app that goes on after errors of its screens, and whose keys take effect in order.

    What becomes of an error is decided by `handler_failed` and `goes_on`, which a subclass overrides.
    """

    def __init__(self, driver_class: type[Driver] | None = None) -> None:
        install_timer_patch()
        install_repaint_patch()
        super().__init__(driver_class=driver_class)
        self.stylesheet = ParsedOnceStylesheet(variables=self.stylesheet._variables)
        self._keys = KeyQueue(self, super().on_event)

    def handler_failed(self, error: Exception) -> bool:
        """Whether the app goes on as if `error`, of a handler or an action of its own, had not been raised."""
        del error
        return False

    def goes_on(self, error: Exception) -> bool:
        """Whether the app goes on after `error`, of a screen, a widget or a timer. False: it ends."""
        del error
        return False

    def key_unused(self, key: str) -> None:
        """A key came up to the app and did nothing: no binding has it, or what has it cannot be done now."""

    def write_terminal(self, sequence: str) -> None:
        """Write to the terminal, in its turn with what is painted."""
        if self._driver is not None:
            self._driver.write(sequence)

    async def on_event(self, event: events.Event) -> None:
        await self._keys.put(event)

    async def _check_bindings(self, key: str, priority: bool = False) -> bool:
        done = await super()._check_bindings(key, priority)
        if not (done or priority):
            self.key_unused(key)
        return done

    @on(Driver.SignalResume)
    def _paint_again(self) -> None:
        """Back from the shell: the terminal has nothing of what was painted before."""
        self.refresh(layout=True)

    async def _dispatch_message(self, message: Message) -> None:
        try:
            await super()._dispatch_message(message)
        except Exception as exc:
            if not self._is_mounted or is_ending(self) or not self.handler_failed(exc):
                raise

    def _handle_exception(self, error: Exception) -> None:
        if not self.goes_on(error):
            end_app(self, error)

    def _prune(self, *nodes: Widget, parent: DOMNode | None = None) -> AwaitRemove:
        """Without a word to the app, which would have the screen painted that came back, and has been painted."""
        return super()._prune(*nodes, parent=None if parent is self else parent)

    @property
    def _background_screens(self) -> list[Screen[Any]]:
        """The screens that can be seen through the one that is shown."""
        return [] if is_opaque(self.screen) else super()._background_screens

    def _get_screen(self, screen: Screen[Any] | str) -> tuple[Screen[Any], AwaitMount]:
        """Called before each screen that is shown."""
        found = self.get_screen(screen)
        guard_handlers(found)
        read_screen_styles(self, found)
        prepare_screen(self, found)
        forget_closed_watchers(self)
        shown = AwaitScreen(found, [] if found.is_running else self._register(self, found))
        self.call_next(shown)
        if self._screen_stack and found is not self.screen:
            forget_repaint(self.screen)
        return found, shown
