"""The Textual app: wiring between a runtime's link and the screens. What is decided and shown is decided elsewhere.

Only Textual is imported before the first frame. The screens, and the runtime's vocabulary behind them, come when the
terminal already shows something; so does the runtime itself, where one has to be started.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.filter import LineFilter
from textual.screen import Screen
from textual.theme import Theme
from textual.worker import Worker, WorkerState

from console.app.config_reload import ConfigReloader
from console.app.error_handling import ErrorBoundary, suspended
from console.app.messages import show_message
from console.app.navigation import Navigator
from console.app.screen_export import ScreenExporter, screen_picture
from console.app.suspend import has_shell
from console.app.theming import ThemeController
from console.preferences.schema import Preferences
from console.terminal.escape_sequences import has_title
from console.terminal.patched_app import PatchedApp
from console.workspace import workspace
from runtime.service.gc_policy import GcPolicy
from screens.render.key_names import key_in_words
from screens.render.layout import Span
from screens.widgets.bar import Bar
from themes.catalog import ThemeCatalog
from themes.choice import DEFAULT_THEME

if TYPE_CHECKING:
    from textual.driver import Driver

    from console.app.notifications import NoticeBell
    from runtime.judgement.reports.notices import NoticeRules
    from screens.shell.context import ConsoleContext, DigestNotice
    from screens.shell.frame_rate import FrameRateGovernor
    from screens.shell.messages import (
        BeginHere,
        ChooseTheme,
        CopyText,
        EditSettings,
        ExportReport,
        ExportText,
        GoStep,
        OpenComparison,
        OpenHome,
        OpenPlace,
        OpenRun,
        ReadSettings,
        TakePicture,
    )
    from screens.views.lists.settings import Setting

COLLECT_CHECK_S = 1.0
NOTICE_S = 1.0
"""How long the end of the console waits for the runtime to note that an operator looked."""


class OrbiterApp(PatchedApp):
    """The console on one runtime. Closing it ends nothing but itself.

    What it does is done by objects that it owns: `themes`, `exporter`, `errors`, `reloader` and the navigator. It hands
    on what Textual calls and what screens ask for.

    `failure` is what kept it from opening; the caller of the app raises it. `errors.broke` is why it ended by itself.
    """

    TITLE = "Orbiter Console"
    ENABLE_COMMAND_PALETTE = False
    """Textual's own: ours is `screens.dialogs.palette`."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+q,ctrl+c", "quit", "Quit", show=False, system=True),
        Binding("ctrl+z", "suspend_process", "Back to the shell", show=False, system=True),
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
        gc_policy: GcPolicy | None = None,
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
        self.themes = ThemeController(self, shelf or ThemeCatalog(), ascii_only=plain, show=self._show_message)
        super().__init__(driver_class=_driver(governor))
        self.themes.begin(theme)
        self.errors = ErrorBoundary(self, self._leave_broken, self._show_message)
        self.exporter = ScreenExporter(
            lambda: self.preferences,
            lambda sequence: self.write_terminal(sequence),  # noqa: PLW0108 - looked up when something is written
            self._show_message,
        )
        self.reloader = ConfigReloader(self.suspend, lambda: self.preferences, self._apply, self._show_message)
        self.failure: Exception | None = None
        self._session = session
        self._opening = opening
        self._first_run = run_id
        self.mouse: bool | None = None
        """Whether the mouse is taken, if it is known."""
        self._digest = digest
        self._at_once = at_once
        self._gc_policy = gc_policy or GcPolicy(enabled=False)
        self._bell: NoticeBell | None = None
        if self.preferences.keymap is not None:
            self.set_keymap(self.preferences.keymap.for_textual())
        self._navigator = Navigator(
            self, lambda: self.session, lambda words: self._show_message(f"{words}{self.errors.log_hint()}", "error")
        )

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
        with suppress(NotImplementedError, ValueError, RuntimeError):  # no main thread, no signals: we are embedded
            loop = asyncio.get_running_loop()
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._leave, number)
        if self.governor is not None:
            self.set_interval(COLLECT_CHECK_S, self._gc_policy.collect_if_due)
        if not callable(self._session):
            self._show()
        elif self._at_once:
            self.call_next(self._open_at_once)
        else:
            self.call_after_refresh(self._open)
        self.themes.follow()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key):
            self._gc_policy.key_pressed()
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
        finally:
            self._gc_policy.loaded()

    def _show(self) -> None:
        from console.demo.tour import tour_text
        from runtime.link.client.client import LinkClient
        from runtime.link.client.multi_client import MultiClient

        keymap = self.preferences.keymap
        keys = keymap.words() if keymap is not None else self.session.keys
        guide = tour_text if self.preferences.guide else None
        self._session = replace(self.session, settings=self._settings, keys=keys, guide=guide)
        link = self.session.link
        self._navigator.begin(self._first_run)
        if isinstance(link, LinkClient | MultiClient):
            link.start()
        self.call_after_refresh(lambda: self.run_worker(self._load_rest(), group="load", exit_on_error=False))

    def _settings(self) -> Sequence[Setting]:
        from console.app.settings_source import collect_settings

        return collect_settings(self, self.session, self.preferences, mouse=self.mouse)

    async def _load_rest(self) -> None:
        """The first screen stands: load what it did without, while keys are answered already."""
        from screens.shell.background_load import load_in_background

        await load_in_background(partial(import_module, "console.app.notifications"))
        self._listen()
        await load_in_background(partial(import_module, "screens.pages.run"))

    def _listen(self) -> None:
        """From now on tell of decisions that were not there."""
        from console.app.notifications import NoticeBell

        title = f"orbiter {workspace().root.name}" if self.titled else ""
        write = self.write_terminal if self.governor is not None else None
        self._bell = NoticeBell(self, write=write, title=title)
        self._bell.begin(self.session.link, self.preferences.notices)
        for line in self.preferences.unknown:
            self._show_message(line, "warning")
        if self._digest:
            self.run_worker(self._tell_digest(), group="digest", exit_on_error=False)
        if self.governor is not None:
            self._gc_policy.begin()

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
        if self.return_code == 0:  # the operator left; who is killed or loses the terminal has sent nothing
            with suppress(TimeoutError):
                async with asyncio.timeout(NOTICE_S):
                    await self._session.hold.send_now()
        if self._digest:
            from console.app.digest import record_look
            from runtime.link.client.client import LinkError

            with suppress(LinkError, TimeoutError):
                async with asyncio.timeout(NOTICE_S):
                    await record_look(link)
        await link.close()

    def get_key_display(self, binding: Binding) -> str:
        """Keys in words that every terminal can show: `enter`, `ctrl+s`, `pgdn`, `?`."""
        if binding.key_display:
            return binding.key_display
        return key_in_words(binding.key)

    def _leave(self, number: signal.Signals) -> None:
        """The terminal went away, or we were told to end. The terminal is given back; the runs go on without us."""
        self.exit(return_code=128 + number)

    def action_suspend_process(self) -> None:
        """Give the terminal to the shell, and to nothing else: nothing else could let the console go on."""
        if has_shell():
            super().action_suspend_process()
        else:
            self._show_message("No shell waits behind this console; q leaves it.", "warning")

    def terminal_gone(self) -> None:
        """There is nothing to read from it or to write to it any more."""
        self._leave(signal.SIGHUP)

    # -- where one is ----------------------------------------------------------------------------------------

    def on_open_run(self, message: OpenRun) -> None:
        """Show a run: the one that is shown already, or another in its place."""
        self._navigator.open_run(message.run_id, message.incident_id)

    def on_open_place(self, message: OpenPlace) -> None:
        self._navigator.open_place(message.name, message.run_id)

    def on_open_comparison(self, message: OpenComparison) -> None:
        self._navigator.open_comparison(message.left, message.right)

    def on_open_home(self, _message: OpenHome) -> None:
        self._navigator.open_home()

    def on_go_step(self, message: GoStep) -> None:
        self._navigator.step(message.step)

    def _leave_broken(self, screen: Screen[Any], words: str) -> None:
        """Close what is before it, and the screen itself; of a screen of ours the inbox takes the place."""
        while screen in self.screen_stack[:-1]:
            self.pop_screen()
        if screen is self.screen and not self._navigator.replace_broken(screen):
            self.pop_screen()
        self.screen.call_after_refresh(self._show_message, words, "error")

    # -- what the app does itself ----------------------------------------------------------------------------

    def action_open_palette(self) -> None:
        """Everything that can be done on the screen that is shown, by name."""
        from console.app.palette import open_palette

        open_palette(self, self.session)

    def on_choose_theme(self, message: ChooseTheme) -> None:
        self.themes.choose(message.name, self.preferences)

    def on_begin_here(self, _message: BeginHere) -> None:
        from console.app.first_use import offer_first_files

        offer = offer_first_files(self, self.session, self._show_message)
        self.run_worker(offer, group="first", exclusive=True, exit_on_error=False)

    def on_edit_settings(self, message: EditSettings) -> None:
        self.reloader.edit(message.source)

    def on_read_settings(self, _message: ReadSettings) -> None:
        self.reloader.read()

    def on_copy_text(self, message: CopyText) -> None:
        self.exporter.copy(message)

    def on_export_text(self, message: ExportText) -> None:
        self.exporter.write_file(message.name, f"{message.text}\n", "written to")

    def on_export_report(self, message: ExportReport) -> None:
        report = self.exporter.write_report(message.run_id, message.export)
        self.run_worker(report, group="report", exit_on_error=False)

    def on_take_picture(self, _message: TakePicture) -> None:
        self.exporter.write_file("screen.svg", self.picture(), "picture written to")

    def picture(self) -> str:
        """What is shown, as SVG."""
        return screen_picture(self)

    def _show_message(self, text: str, severity: str) -> None:
        show_message(self, text, severity)

    def _apply(self, preferences: Preferences, rules: NoticeRules) -> None:
        """From now on these preferences hold."""
        self.preferences = preferences
        keymap = preferences.keymap
        self.set_keymap(keymap.for_textual() if keymap is not None else {})
        self.session.name_keys(
            keymap.words() if keymap is not None else {}, keymap.letters() if keymap is not None else None
        )
        self.session.hold.seconds = preferences.undo_seconds
        if self._bell is not None:
            self._bell.set_rules(rules)
        if preferences.theme in self.available_themes:
            self.theme = preferences.theme

    # -- what Textual asks and tells, for the objects that know ------------------------------------------------

    def get_line_filters(self) -> Sequence[LineFilter]:
        return self.themes.filters(super().get_line_filters())

    @property
    def available_themes(self) -> dict[str, Theme]:
        return self.themes.available() or super().available_themes

    def key_unused(self, key: str) -> None:
        from screens.base.runtime_screen import RuntimeScreen  # not before the first frame

        if isinstance(self.screen, RuntimeScreen):
            self.screen.key_unused(key)

    def handler_failed(self, error: Exception) -> bool:
        """The app's own handlers, and the actions behind keys, which it carries out."""
        self.errors.report(error)
        return True

    def goes_on(self, error: Exception) -> bool:
        return self.errors.goes_on(error)

    def on_worker_state_changed(self, message: Worker.StateChanged) -> None:
        """Work of the app's own, which goes on when the screen that began it is closed."""
        if message.state is WorkerState.ERROR and message.worker.error is not None:
            self.errors.report(message.worker.error)

    @contextmanager
    def suspend(self) -> Iterator[None]:
        with suspended(super().suspend()):
            yield


def _driver(governor: FrameRateGovernor | None) -> type[Driver] | None:
    """The driver that tells a governor of its writes; None, Textual's own choice, where there is none to tell."""
    if governor is None or sys.platform == "win32":
        return None
    from console.terminal.driver import TimedDriver

    return TimedDriver
