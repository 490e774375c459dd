"""The Textual app: wiring between a runtime's link and the screens. What is decided and shown is decided elsewhere.

Only Textual is imported before the first frame. The screens, and the runtime's vocabulary behind them, come when the
terminal already shows something; so does the runtime itself, where one has to be started.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from console.app.config_reload import ReloadingApp
from console.app.gc_policy import GcPolicy
from console.app.suspend import SuspendableApp
from console.preferences.schema import Preferences
from console.preferences.state_file import save_theme
from console.terminal.escape_sequences import has_title
from console.terminal.key_queue import KeyQueueApp
from console.terminal.utf8_patch import install_utf8_patch
from console.workspace import workspace
from screens.base.screen_registry import HOME_SCREEN, SCREENS, ScreenEntry
from screens.render.key_names import key_in_words
from screens.render.layout import Span
from screens.shell.navigation_history import History, Visit
from screens.shell.timer import Alarm
from screens.widgets.bar import Bar
from themes.catalog import ThemeCatalog
from themes.choice import DEFAULT_THEME

if TYPE_CHECKING:
    from textual.driver import Driver

    from console.app.notifications import Notifications
    from screens.base.runtime_screen import RuntimeScreen
    from screens.shell.context import ConsoleContext, DigestNotice
    from screens.shell.frame_rate import FrameRateGovernor
    from screens.shell.messages import (
        ChooseTheme,
        GoStep,
        OpenHome,
        OpenPlace,
        OpenRun,
    )
    from screens.views.lists.commands import Command
    from screens.views.lists.settings import Setting

log = logging.getLogger(__name__)

TICK_S = 1.0
NOTICE_S = 1.0
"""How long the end of the console waits for the runtime to note that somebody looked."""


class OrbiterApp(KeyQueueApp, SuspendableApp, ReloadingApp):
    """The console on one runtime. Closing it ends nothing but itself.

    `failure` is what kept it from opening; whoever ran the app raises it. `broke` is why it ended by itself.
    """

    TITLE = "Orbiter Console"
    ENABLE_COMMAND_PALETTE = False
    """Textual's own: ours is `screens.dialogs.palette`."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+q,ctrl+c", "quit", "Quit", show=False, system=True),
    ]

    def __init__(
        self,
        session: ConsoleContext | Callable[[], ConsoleContext],
        *,
        theme: str = DEFAULT_THEME,
        shelf: ThemeCatalog | None = None,
        ascii_only: bool = False,
        run_id: str = "",
        opening: str = "",
        governor: FrameRateGovernor | None = None,
        preferences: Preferences | None = None,
        digest: bool = False,
        at_once: bool = False,
    ) -> None:
        """A `session` that is a function is called in a thread, once the first frame stands; `opening` is what that
        frame says meanwhile. With `at_once` it takes no time, and nothing is painted before it. `run_id` is opened at
        once, over the inbox. A `governor` is told how the terminal takes what is written. `theme` is one of `shelf`,
        which has the built-in ones if it is not given. With `digest` the operator is told what happened since they
        looked the last time, and that they look now is noted.

        Raises:
            ThemeError: there is no such theme, or its file cannot be used.
        """
        self.governor = governor
        self.preferences = preferences or Preferences()
        self.titled = governor is not None and self.preferences.title and has_title(os.environ)
        plain = ascii_only or (not callable(session) and session.glyphs.name == "ascii")
        super().__init__(theme, shelf or ThemeCatalog(), ascii_only=plain, driver=_driver(governor))
        install_utf8_patch()
        self.failure: Exception | None = None
        self._session = session
        self._opening = opening
        self._first_run = run_id
        self.mouse: bool | None = None
        """Whether the mouse is taken, if it is known."""
        self._digest = digest
        self._at_once = at_once
        self._sweeper = GcPolicy()
        self._notifier: Notifications | None = None
        self._notifier_alarm = Alarm(self, self._ring)
        if self.preferences.keymap is not None:
            self.set_keymap(self.preferences.keymap.for_textual())
        self.history = History()
        self._stood: History | None = None
        """The history when the screen that stands was opened."""
        self._places: dict[str, RuntimeScreen] = {}

    def compose(self) -> ComposeResult:
        """What stands there until the first screen does, if that takes time."""
        if self._at_once:
            return
        bar = Bar(id="opening")
        bar.show((Span("orbiter", "ink-strong", bold=True), Span(f"  {self._opening}", "ink-muted")))
        yield bar

    @property
    def session(self) -> ConsoleContext:
        assert not callable(self._session)
        return self._session

    def on_mount(self) -> None:
        with suppress(NotImplementedError, ValueError, RuntimeError):  # no main thread, no signals: somebody embeds us
            loop = asyncio.get_running_loop()
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._leave, number)
        if self.governor is not None:
            self.set_interval(TICK_S, self._sweeper.collect_if_due)
        if not callable(self._session):
            self._show()
        elif self._at_once:
            self.call_next(self._open_at_once)
        else:
            self.call_after_refresh(self._open)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key):
            self._sweeper.key_pressed()
        await super().on_event(event)

    async def _open_at_once(self) -> None:
        with self.batch_update():  # the first frame is the first screen's
            await self._open()

    async def _open(self) -> None:
        assert callable(self._session)
        try:
            self._session = await asyncio.to_thread(self._session)
            from console.app.startup import (
                attach_console,  # knows the runtime's words, which the session has just loaded
            )

            await attach_console(self._session.link, "screens.pages.inbox")
        except Exception as exc:
            self.failure = exc
            self.exit(return_code=1)
        else:
            self._show()

    def _show(self) -> None:
        from runtime.link.client.client import LinkClient
        from runtime.link.client.multi_client import MultiClient

        keymap = self.preferences.keymap
        keys = keymap.words() if keymap is not None else self.session.keys
        self._session = replace(self.session, settings=self._settings, keys=keys)
        link = self.session.link
        self.history.go(Visit(HOME_SCREEN))
        if self._first_run:
            self.history.go(Visit("", self._first_run))
        self._visit()
        if isinstance(link, LinkClient | MultiClient):
            link.start()
        self.call_after_refresh(self._listen)

    def _settings(self) -> Sequence[Setting]:
        from console.app.settings_source import collect_settings

        return collect_settings(self, self.session, self.preferences, mouse=self.mouse)

    def _listen(self) -> None:
        """From now on tell of decisions that were not there; the first screen stands, and need not wait for this."""
        from console.app.notifications import Notifications, console_rules

        self._notifier = Notifications(
            console_rules(self.preferences.notices),
            ring=lambda: self.bell(),  # noqa: PLW0108 - looked up when it rings
            write=self.write_terminal if self.governor is not None else None,
            name=f"orbiter {workspace().root.name}" if self.titled else "",
            environment=os.environ,
        )
        self.session.link.subscribe(self._ring)
        self._ring()
        for line in self.preferences.unknown:
            self._show_message(line, "warning")
        if self._digest:
            self.run_worker(self._tell_digest(), group="digest", exit_on_error=False)
        if self.governor is not None:
            self._sweeper.begin()

    async def _tell_digest(self) -> None:
        """Once there is a runtime to ask."""
        from console.app.digest import show_digest

        def tell(found: DigestNotice) -> None:
            self.session.away.line, self.session.away.sentences = found.line, found.sentences
            self._show_message(f"{found.line}  (:digest has all of it)", "info")

        await show_digest(self.session.link, self.session.clock, tell)

    async def on_unmount(self) -> None:
        if callable(self._session):
            return
        link = self._session.link
        if self._digest:
            from console.app.digest import record_look
            from runtime.link.client.client import LinkError

            with suppress(LinkError, TimeoutError):
                await asyncio.wait_for(record_look(link), NOTICE_S)
        await link.close()

    def get_key_display(self, binding: Binding) -> str:
        """Keys in words that every terminal can show: `enter`, `ctrl+s`, `pgdn`, `?`."""
        if binding.key_display:
            return binding.key_display
        return key_in_words(binding.key)

    def _leave(self, number: signal.Signals) -> None:
        """The terminal went away, or somebody wants us to. The terminal is given back; the runs go on without us."""
        self.exit(return_code=128 + number)

    def no_shell(self) -> None:
        self._show_message("No shell waits behind this console; q leaves it.", "warning")

    def terminal_gone(self) -> None:
        """There is nothing to read from it or to write to it any more."""
        self._leave(signal.SIGHUP)

    def _ring(self) -> None:
        """Bell, notice and title for decisions that were not there a moment ago."""
        if self._notifier is None:
            return
        held = self._notifier.update(self.session.link)
        if held is None:
            self._notifier_alarm.stop()
        else:
            self._notifier_alarm.set(held)

    # -- where one is ----------------------------------------------------------------------------------------

    def on_open_run(self, message: OpenRun) -> None:
        """Show a run: the one that is shown already, or another in its place."""
        from screens.pages.run import RunScreen

        screen = self.screen
        if isinstance(screen, RunScreen) and screen.run_id == message.run_id:
            screen.go_to(message.incident_id)
        else:
            self.history.go(Visit("", message.run_id))
            self._visit(message.incident_id)

    def on_open_place(self, message: OpenPlace) -> None:
        if message.name in SCREENS and self.history.current != (here := Visit(message.name, message.run_id)):
            self.history.go(here)
            self._visit()

    def on_open_home(self, _message: OpenHome) -> None:
        if self.history.up() is not None:
            self._visit()

    def action_open_palette(self) -> None:
        """Everything that can be done on the screen that is shown, by name."""
        from screens.base.runtime_screen import RuntimeScreen
        from screens.dialogs.palette import PaletteScreen
        from screens.dialogs.palette_commands import palette_commands

        async def act(command: Command | None) -> None:
            if command is not None and isawaitable(found := command.act()):
                await found

        screen = self.screen
        if isinstance(screen, RuntimeScreen):
            self.push_screen(PaletteScreen(self.session, palette_commands(screen)), act)

    def on_choose_theme(self, message: ChooseTheme) -> None:
        """Show a theme, and remember it."""
        self.theme = message.name
        words = f"theme {message.name}"
        try:
            save_theme(os.environ, message.name)
        except OSError as exc:
            self._show_message(f"{words}; not for the next time: {exc}", "warning")
            return
        over = self.preferences.theme and f"; {self.preferences.source('console', 'theme')} has another for next time"
        self._show_message(f"{words}{over}", "info")

    def on_go_step(self, message: GoStep) -> None:
        if self.history.step(message.step) is not None:
            self._visit()

    def _visit(self, incident_id: str = "") -> None:
        """Show what the history says. A place stays as it was left; a run is looked at anew."""
        here, above = self.history.current, self.history.above()
        assert here is not None
        try:
            screen = self._screen_of(here, incident_id)
            screen.came_from = (self._title_of(above),) if above is not None else ()
            if len(self.screen_stack) > 1:
                self.switch_screen(screen)
            else:
                self.push_screen(screen)
        except Exception as exc:  # a place that is broken must not take the others away from whoever decides
            if self._stood is None:
                raise
            self.history = self._stood
            self._forget(self._places.get(here.place))
            log.exception("a screen could not be opened")
            words = f"This cannot be opened, please report it: {type(exc).__name__}: {exc}"
            self._show_message(f"{words}{self.log_hint()}", "error")
            return
        self._stood = replace(self.history)

    def _screen_of(self, visit: Visit, incident_id: str) -> RuntimeScreen:
        if not visit.place:
            from screens.pages.run import RunScreen  # with all that a run is read with: the lists do without

            return RunScreen(self.session, visit.run_id, incident_id)
        place = SCREENS[visit.place]
        if visit.run_id:
            return _new_screen(place, self.session, visit.run_id)
        if place.name not in self._places:
            screen = self._places[place.name] = _new_screen(place, self.session)
            self.install_screen(screen, f"{place.name} {id(screen)}")
        return self._places[place.name]

    def _forget(self, screen: Screen[Any] | None) -> None:
        """A place that failed is made anew when it is opened the next time."""
        for name in [name for name, place in self._places.items() if place is screen]:
            del self._places[name]
        if screen is not None and screen not in self.screen_stack and self.is_screen_installed(screen):
            self.uninstall_screen(screen)

    def leave_broken(self, screen: Screen[Any], words: str) -> None:
        """Close what is before it, and the screen itself; of a screen of ours the inbox takes the place."""
        from screens.base.runtime_screen import RuntimeScreen

        while screen in self.screen_stack[:-1]:
            self.pop_screen()
        if screen is self.screen:
            if isinstance(screen, RuntimeScreen):
                self._forget(screen)
                self.history.go(Visit(HOME_SCREEN))
                self._visit()
                self._forget(screen)
            else:
                self.pop_screen()
        self.screen.call_after_refresh(self._show_message, words, "error")

    def _title_of(self, visit: Visit) -> str:
        if visit.place:
            return SCREENS[visit.place].title
        from screens.views.lists.runs import title_of

        summary = self.session.link.summaries.get(visit.run_id)
        return title_of(summary, self.session.looks()) if summary is not None else visit.run_id


def _new_screen(entry: ScreenEntry, session: ConsoleContext, run_id: str = "") -> RuntimeScreen:
    """The screen of an entry; about one run, where it can be."""
    made = getattr(import_module(entry.module), entry.screen)
    found: RuntimeScreen = made(session, run_id) if run_id else made(session)
    return found


def _driver(governor: FrameRateGovernor | None) -> type[Driver] | None:
    """The driver that tells a governor of its writes; None, Textual's own choice, where there is none to tell."""
    if governor is None or sys.platform == "win32":
        return None
    from console.terminal.driver import TimedDriver

    return TimedDriver
