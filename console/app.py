"""The Textual app: wiring between a runtime's link and the screens. What is decided and shown is decided elsewhere.

Only Textual is imported before the first frame. The screens, and the runtime's vocabulary behind them, come when the
terminal already shows something; so does the runtime itself, where one has to be started.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from rich.color import ColorSystem
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from console.dressed import DressedApp
from console.kept import keep_theme
from console.lenient import read_leniently
from console.preferences import Preferences
from screens.history import History, Visit
from screens.keynames import in_words
from screens.layout import Span
from screens.places import HOME, PLACES
from screens.widgets.bar import Bar
from themes.choice import DEFAULT
from themes.shelf import Shelf

if TYPE_CHECKING:
    from textual.driver import Driver

    from screens.governor import Governor
    from screens.link import Session
    from screens.linked import LinkedScreen
    from screens.messages import ChooseTheme, GoStep, OpenHome, OpenPlace, OpenRun

TICK = 1.0


class OrbiterApp(DressedApp):
    """The console on one runtime. Closing it ends nothing but itself.

    `failure` is what kept it from opening; whoever ran the app raises it.
    """

    TITLE = "Orbiter Console"
    ENABLE_COMMAND_PALETTE = False
    """Textual's own: ours is `screens.palette`."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+q,ctrl+c", "quit", "Quit", show=False, system=True),
    ]

    def __init__(
        self,
        session: Session | Callable[[], Session],
        *,
        theme: str = DEFAULT,
        shelf: Shelf | None = None,
        ascii_only: bool = False,
        run_id: str = "",
        opening: str = "",
        governor: Governor | None = None,
        preferences: Preferences | None = None,
    ) -> None:
        """A `session` that is a function is called in a thread, once the first frame stands; `opening` is what that
        frame says meanwhile. `run_id` is opened at once, over the inbox. A `governor` is told how the terminal takes
        what is written. `theme` is one of `shelf`, which has the built-in ones if it is not given.

        Raises:
            ThemeError: there is no such theme, or its file cannot be used.
        """
        self.governor = governor
        plain = ascii_only or (not callable(session) and session.glyphs.name == "ascii")
        super().__init__(theme, shelf or Shelf(), ascii_only=plain, driver=_driver(governor))
        read_leniently()
        self._colours = self.console._color_system or ColorSystem.TRUECOLOR
        self.failure: Exception | None = None
        self._session = session
        self._opening = opening
        self._first_run = run_id
        self.preferences = preferences or Preferences()
        if self.preferences.keymap is not None:
            self.set_keymap(self.preferences.keymap.for_textual())
        self.history = History()
        self._places: dict[str, LinkedScreen] = {}
        self._known: frozenset[str] = frozenset()
        self._heard = False

    def compose(self) -> ComposeResult:
        """What stands there until the first screen does."""
        bar = Bar(id="opening")
        bar.show((Span("orbiter", "ink-strong", bold=True), Span(f"  {self._opening}", "ink-muted")))
        yield bar

    @property
    def session(self) -> Session:
        assert not callable(self._session)
        return self._session

    def on_mount(self) -> None:
        with suppress(NotImplementedError, ValueError, RuntimeError):  # no main thread, no signals: somebody embeds us
            loop = asyncio.get_running_loop()
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._leave, number)
        if self.governor is not None:
            self.set_interval(TICK, self._save_colours)
        if callable(self._session):
            self.call_after_refresh(self._open)
        else:
            self._show()

    def _save_colours(self) -> None:
        """While the terminal's link is slow, 256 colours do: each costs half the bytes of one in 24 bits."""
        assert self.governor is not None
        wanted = self._colours if self.governor.quality == "good" else min(self._colours, ColorSystem.EIGHT_BIT)
        self.console._color_system = wanted

    async def _open(self) -> None:
        assert callable(self._session)
        try:
            self._session = await asyncio.to_thread(self._session)
            from console.attaching import attach  # knows the runtime's words, which the session has just loaded

            await attach(self._session.link, "screens.home")
        except Exception as exc:
            self.failure = exc
            self.exit(return_code=1)
        else:
            self._show()

    def _show(self) -> None:
        from runtime.link.client import LinkClient
        from runtime.link.several import SeveralClients

        link = self.session.link
        link.subscribe(self._ring)
        self._ring()
        self.history.go(Visit(HOME))
        if self._first_run:
            self.history.go(Visit("", self._first_run))
        self._visit()
        if isinstance(link, LinkClient | SeveralClients):
            link.start()

    async def on_unmount(self) -> None:
        if not callable(self._session):
            await self._session.link.close()

    def get_key_display(self, binding: Binding) -> str:
        """Keys in words that every terminal can show: `enter`, `ctrl+s`, `pgdn`, `?`."""
        if binding.key_display:
            return binding.key_display
        return in_words(binding.key)

    def _leave(self, number: signal.Signals) -> None:
        """The terminal went away, or somebody wants us to. The terminal is given back; the runs go on without us."""
        self.exit(return_code=128 + number)

    def _ring(self) -> None:
        """The bell for a decision that was not there a moment ago; not for those that were waiting at the start."""
        if not self.session.link.ready:
            return
        now = frozenset(self.session.link.incidents)
        if self._heard and now - self._known:
            self.bell()
        self._known, self._heard = now, True

    # -- where one is ----------------------------------------------------------------------------------------

    def on_open_run(self, message: OpenRun) -> None:
        """Show a run: the one that is shown already, or another in its place."""
        from screens.run import RunScreen

        screen = self.screen
        if isinstance(screen, RunScreen) and screen.run_id == message.run_id:
            screen.go_to(message.incident_id)
        else:
            self.history.go(Visit("", message.run_id))
            self._visit(message.incident_id)

    def on_open_place(self, message: OpenPlace) -> None:
        if message.name in PLACES and self.history.here != (here := Visit(message.name, message.run_id)):
            self.history.go(here)
            self._visit()

    def on_open_home(self, _message: OpenHome) -> None:
        if self.history.up() is not None:
            self._visit()

    def on_choose_theme(self, message: ChooseTheme) -> None:
        """Show a theme, and remember it."""
        self.theme = message.name
        words = f"theme {message.name}"
        try:
            keep_theme(os.environ, message.name)
        except OSError as exc:
            self._tell(f"{words}; not for the next time: {exc}", "warning")
            return
        over = self.preferences.theme and f"; {self.preferences.source('console', 'theme')} has another for next time"
        self._tell(f"{words}{over}", "info")

    def on_go_step(self, message: GoStep) -> None:
        if self.history.step(message.step) is not None:
            self._visit()

    def _visit(self, incident_id: str = "") -> None:
        """Show what the history says. A place stays as it was left; a run is looked at anew."""
        here, above = self.history.here, self.history.above()
        assert here is not None
        screen = self._screen_of(here, incident_id)
        screen.came_from = (self._title_of(above),) if above is not None else ()
        if len(self.screen_stack) > 1:
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    def _screen_of(self, visit: Visit, incident_id: str) -> LinkedScreen:
        from screens.run import RunScreen

        if not visit.place:
            return RunScreen(self.session, visit.run_id, incident_id)
        place = PLACES[visit.place]
        if visit.run_id:
            return place.open(self.session, visit.run_id)
        if place.name not in self._places:
            self._places[place.name] = place.open(self.session)
            self.install_screen(self._places[place.name], place.name)
        return self._places[place.name]

    def _title_of(self, visit: Visit) -> str:
        if visit.place:
            return PLACES[visit.place].title
        from screens.views.runs import title_of

        summary = self.session.link.summaries.get(visit.run_id)
        return title_of(summary, self.session.looks()) if summary is not None else visit.run_id


def _driver(governor: Governor | None) -> type[Driver] | None:
    """The driver that tells a governor of its writes; None, Textual's own choice, where there is none to tell."""
    if governor is None or sys.platform == "win32":
        return None
    from console.driver import GovernedDriver

    return GovernedDriver
