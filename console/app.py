"""The Textual app: wiring between a runtime's link and the screens. What is decided and shown is decided elsewhere."""

from __future__ import annotations

import asyncio
import signal
from typing import ClassVar

from textual.app import App
from textual.binding import Binding, BindingType

from runtime.link.client import LinkClient
from screens.home import HomeScreen
from screens.link import Session
from screens.messages import OpenHome, OpenRun
from screens.run import RunScreen
from themes.loader import DEFAULT, built_in

_KEY_WORDS = {"escape": "esc", "pagedown": "pgdn", "pageup": "pgup", "question_mark": "?"}


class OrbiterApp(App[None]):
    """The console on one runtime. Closing it ends nothing but itself."""

    TITLE = "Orbiter Console"
    ENABLE_COMMAND_PALETTE = True
    INHERIT_BINDINGS = False
    BINDINGS: ClassVar[list[BindingType]] = []

    def __init__(self, session: Session, *, theme: str = DEFAULT, run_id: str = "") -> None:
        """`run_id` is opened at once, over the inbox."""
        super().__init__()
        for found in built_in():
            self.register_theme(found)
        self.theme = theme
        self.session = session
        self._first_run = run_id
        self._known: frozenset[str] = frozenset()
        self._heard = False

    def on_mount(self) -> None:
        self.session.link.subscribe(self._ring)
        self.push_screen(HomeScreen(self.session))
        if self._first_run:
            self.push_screen(RunScreen(self.session, self._first_run))
        if isinstance(self.session.link, LinkClient):
            self.session.link.start()
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self._hang_up)

    def get_key_display(self, binding: Binding) -> str:
        """Keys in words that every terminal can show: `enter`, `ctrl+s`, `pgdn`, `?`."""
        if binding.key_display:
            return binding.key_display
        *modifiers, key = binding.key.split("+")
        return "+".join([*modifiers, _KEY_WORDS.get(key, key)])

    async def on_unmount(self) -> None:
        if isinstance(self.session.link, LinkClient):
            await self.session.link.close()

    def _hang_up(self) -> None:
        """The terminal went away. Nothing can be painted any more; the runs go on without us."""
        self.exit(return_code=128 + signal.SIGHUP)

    def _ring(self) -> None:
        """The bell for a decision that was not there a moment ago; not for those that were waiting at the start."""
        if not self.session.link.ready:
            return
        now = frozenset(self.session.link.incidents)
        if self._heard and now - self._known:
            self.bell()
        self._known, self._heard = now, True

    def on_open_run(self, message: OpenRun) -> None:
        """Show a run: the one that is shown already, or another in its place."""
        screen = self.screen
        if isinstance(screen, RunScreen):
            if screen.run_id == message.run_id:
                screen.go_to(message.incident_id)
                return
            self.switch_screen(RunScreen(self.session, message.run_id, message.incident_id))
        else:
            self.push_screen(RunScreen(self.session, message.run_id, message.incident_id))

    def on_open_home(self, _message: OpenHome) -> None:
        if isinstance(self.screen, RunScreen):
            self.pop_screen()
