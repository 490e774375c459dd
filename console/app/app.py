"""The Textual app: wiring between a runtime's link and the screens. What is decided and shown is decided elsewhere."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
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
from console.app.session import ConsoleSession
from console.app.suspend import has_shell
from console.app.theming import ThemeController
from console.preferences.schema import Preferences
from console.terminal.escape_sequences import has_title
from console.terminal.patched_app import PatchedApp
from console.terminal.repaint_patch import HiddenScreen
from console.workspace import workspace
from runtime.service.gc_policy import GcPolicy
from screens.render.key_names import key_in_words
from screens.render.layout import Span
from screens.widgets.bar import Bar
from themes.catalog import ThemeCatalog
from themes.choice import DEFAULT_THEME

if TYPE_CHECKING:
    from textual.driver import Driver

    from runtime.judgement.reports.notices import NoticeRules
    from screens.shell.context import ConsoleContext
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


class OrbiterApp(PatchedApp):
    """The console on one runtime. Closing it ends nothing but itself.

    What it does is done by objects that it owns: its session, `themes`, `exporter`, `errors`, `reloader` and the
    navigator. It hands on what Textual calls and what screens ask for. `errors.broke` is why it ended by itself.
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
        self._opening = "" if at_once else f"  {opening}"
        self._at_once = at_once
        self.mouse: bool | None = None
        """Whether the mouse is taken, if it is known."""
        self._console = ConsoleSession(
            self,
            session,
            preferences=lambda: self.preferences,
            settings=self._settings,
            title=f"orbiter {workspace().root.name}" if self.titled else "",
            at_terminal=governor is not None,
            at_once=at_once,
            digest=digest,
            gc_policy=gc_policy or GcPolicy(enabled=False),
            show=lambda: self._navigator.begin(run_id),
        )
        if self.preferences.keymap is not None:
            self.set_keymap(self.preferences.keymap.for_textual())
        self._navigator = Navigator(
            self, lambda: self.session, lambda words: self._show_message(f"{words}{self.errors.log_hint()}", "error")
        )

    def get_css_variables(self) -> dict[str, str]:
        """Those of the theme; none while Textual initialises itself with a theme of its own, which is never shown."""
        return super().get_css_variables() if self.themes.available() else {}

    def get_default_screen(self) -> Screen[Any]:
        """The screen below all others, which `compose` fills."""
        return HiddenScreen() if self._at_once else super().get_default_screen()

    def compose(self) -> ComposeResult:
        """What stands there until the first screen does, if that takes time."""
        if not self._opening:
            return
        bar = Bar(id="opening")
        bar.show((Span("orbiter", "ink-strong", bold=True), Span(self._opening, "ink-muted")))
        yield bar

    @property
    def session(self) -> ConsoleContext:
        return self._console.context

    @property
    def failure(self) -> Exception | None:
        """What kept it from opening; the caller of the app raises it."""
        return self._console.failure

    def _settings(self) -> Sequence[Setting]:
        from console.app.settings_source import collect_settings

        return collect_settings(self, self.session, self.preferences, mouse=self.mouse)

    def on_mount(self) -> None:
        with suppress(NotImplementedError, ValueError, RuntimeError):  # no main thread, no signals: we are embedded
            loop = asyncio.get_running_loop()
            for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, self._leave, number)
        self._console.begin()
        self.themes.follow()

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.Key):
            self._console.gc_policy.key_pressed()
        await super().on_event(event)

    async def on_unmount(self) -> None:
        await self._console.close(left=self.return_code == 0)

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
        self.set_keymap(preferences.keymap.for_textual() if preferences.keymap is not None else {})
        self._console.apply(preferences, rules)
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
