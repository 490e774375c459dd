"""The Textual app: wiring between a runtime's link and the screens. What is decided and shown is decided elsewhere.

Only Textual is imported before the first frame. The screens, and the runtime's vocabulary behind them, come when the
terminal already shows something; so does the runtime itself, where one has to be started.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar

from rich.color import ColorSystem
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.theme import Theme

from console.lenient import read_leniently
from screens.keynames import in_words
from screens.layout import Span
from screens.widgets.bar import Bar
from themes.choice import BUILT_IN, DEFAULT
from themes.loader import named

if TYPE_CHECKING:
    from textual.driver import Driver

    from screens.governor import Governor
    from screens.link import Session
    from screens.messages import OpenHome, OpenRun

TICK = 1.0


class OrbiterApp(App[None]):
    """The console on one runtime. Closing it ends nothing but itself.

    `failure` is what kept it from opening; whoever ran the app raises it.
    """

    TITLE = "Orbiter Console"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+q,ctrl+c", "quit", "Quit", show=False, system=True),
    ]

    def __init__(
        self,
        session: Session | Callable[[], Session],
        *,
        theme: str = DEFAULT,
        run_id: str = "",
        opening: str = "",
        governor: Governor | None = None,
    ) -> None:
        """A `session` that is a function is called in a thread, once the first frame stands; `opening` is what that
        frame says meanwhile. `run_id` is opened at once, over the inbox. A `governor` is told how the terminal takes
        what is written.
        """
        self._themes: dict[str, Theme] = {}
        self.governor = governor
        super().__init__(driver_class=_driver(governor))
        read_leniently()
        self._learn(theme)
        self.theme = theme
        self._colours = self.console._color_system or ColorSystem.TRUECOLOR
        self.failure: Exception | None = None
        self._session = session
        self._opening = opening
        self._first_run = run_id
        self._known: frozenset[str] = frozenset()
        self._heard = False

    def compose(self) -> ComposeResult:
        """What stands there until the first screen does."""
        bar = Bar(id="opening")
        bar.show((Span("orbiter", "ink-strong", bold=True), Span(f"  {self._opening}", "ink-muted")))
        yield bar

    def _learn(self, *names: str) -> None:
        for name in names:
            self._themes[name] = named(name)
            self.register_theme(self._themes[name])

    @property
    def available_themes(self) -> dict[str, Theme]:
        """Ours alone: those of Textual have no colour for a state."""
        return dict(self._themes) or super().available_themes

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
        self.call_after_refresh(self._learn, *(name for name in BUILT_IN if name not in self._themes))
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
        except Exception as exc:
            self.failure = exc
            self.exit(return_code=1)
        else:
            self._show()

    def _show(self) -> None:
        from runtime.link.client import LinkClient
        from runtime.link.several import SeveralClients
        from screens.home import HomeScreen
        from screens.run import RunScreen

        link = self.session.link
        link.subscribe(self._ring)
        self.push_screen(HomeScreen(self.session))
        if self._first_run:
            self.push_screen(RunScreen(self.session, self._first_run))
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

    def on_open_run(self, message: OpenRun) -> None:
        """Show a run: the one that is shown already, or another in its place."""
        from screens.run import RunScreen

        screen = self.screen
        if not isinstance(screen, RunScreen):
            self.push_screen(RunScreen(self.session, message.run_id, message.incident_id))
        elif screen.run_id == message.run_id:
            screen.go_to(message.incident_id)
        else:
            self.switch_screen(RunScreen(self.session, message.run_id, message.incident_id))

    def on_open_home(self, _message: OpenHome) -> None:
        from screens.run import RunScreen

        if isinstance(self.screen, RunScreen):
            self.pop_screen()


def _driver(governor: Governor | None) -> type[Driver] | None:
    """The driver that tells a governor of its writes; None, Textual's own choice, where there is none to tell."""
    if governor is None or sys.platform == "win32":
        return None
    from console.driver import GovernedDriver

    return GovernedDriver
