"""The base of all screens on a runtime: redraw on change, and the line about the link."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.keys import key_to_character
from textual.timer import Timer

from runtime.link.client.client import LinkLost
from screens.base.message_screen import MessageScreen
from screens.base.screen_registry import SCREENS
from screens.base.status_bars import StatusBars
from screens.render.layout import Span, Spans
from screens.shell.answer_hold import HeldAnswer
from screens.shell.context import ConsoleContext, Link
from screens.shell.messages import GoStep, OpenHome, OpenPlace, OpenRun
from screens.widgets.bar import Bar, MessageBar
from screens.widgets.footer import KeyFooter
from screens.widgets.redraw_throttle import RedrawThrottle

TICK_S = 1.0
"""Seconds between two looks at the clock: ages and countdowns go on though nothing happens."""


class RuntimeScreen(MessageScreen):
    """Has a crumb line at the top, a notice and the keys at the bottom; `body` is between, `draw` fills it."""

    DEFAULT_CSS = """
    RuntimeScreen {
        background: $surface;
        #crumbs { background: $panel; }
        #lost, #held, #notice { display: none; }
        #lost.-shown, #held.-shown, #notice.-shown { display: block; }
    }
    """

    AUTO_FOCUS: ClassVar[str | None] = "LineView"
    ACTS: ClassVar[frozenset[str]] = frozenset()
    """Actions that change something where the runs are: not offered to a login that may only look."""
    BINDING_GROUP_TITLE = "Everywhere"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "next_decision", "Next decision", tooltip="The next decision", id="app.next_decision"),
        *(
            Binding(place.key, f"place('{place.name}')", place.title, show=False, id=f"app.{place.name}")
            for place in SCREENS.values()
        ),
        Binding("escape", "up", "Back", key_display="esc", tooltip="Back to where this was opened", id="app.up"),
        Binding("left_square_bracket", "step(-1)", "Back in history", show=False, id="app.back"),
        Binding("right_square_bracket", "step(1)", "Forward in history", show=False, id="app.forward"),
        Binding("b", "revive", "Bring the runtime back", id="app.revive"),
        Binding("ctrl+t", "take_back", "Take back", tooltip="The answer that is not sent yet", id="app.take_back"),
        Binding("r", "login", "Log in again", show=False, priority=True, id="app.login"),
        Binding(
            "colon,ctrl+p",
            "app.open_palette",
            "Commands",
            key_display=":",
            tooltip="Every command, by name",
            id="app.palette",
        ),
        Binding("question_mark,f1", "help", "Help", key_display="?", id="app.help"),
        Binding("q,ctrl+q,ctrl+c", "leave", "Quit", key_display="q", id="app.quit"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - Textual's own, no ClassVar
    VERTICAL_BREAKPOINTS = [(0, "-tiny"), (12, "-low"), (32, "-high")]  # noqa: RUF012

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__(session)
        self.pace = RedrawThrottle(self, self._draw, governor=session.governor)
        self._bars = StatusBars(self)
        self._end: Callable[[], None] | None = None
        self._clock: Timer | None = None
        self._next_waits = False
        self._covered = False
        """Whether it was covered since it was drawn."""
        self.came_from: tuple[str, ...] = ()
        """Titles of what this screen was opened from, for its crumbs; the app says it before the screen is shown."""

    @property
    def link(self) -> Link:
        return self.session.link

    def compose(self) -> ComposeResult:
        """The frame; what is in it comes from `body`."""
        ellipsis = self.session.glyphs.ellipsis
        yield Bar(id="crumbs", ellipsis=ellipsis)
        yield from self.body()
        yield MessageBar(id="lost", ellipsis=ellipsis)
        yield MessageBar(id="held", ellipsis=ellipsis)
        yield MessageBar(id="notice", ellipsis=ellipsis)
        yield KeyFooter(id="foot", ellipsis=ellipsis)

    def body(self) -> ComposeResult:
        """The panes of this screen."""
        raise NotImplementedError

    def draw(self) -> None:
        """Show what is known now. Called at most ten times a second."""
        raise NotImplementedError

    def crumbs(self) -> Spans:
        """Where this screen stands."""
        raise NotImplementedError

    def trail(self, here: str) -> Spans:
        """`orbiter › inbox › here`: the crumbs of a screen, whose own name is clean."""
        crumb = self.session.glyphs.crumb
        above = "".join(f"{title}{crumb}" for title in self.came_from)
        return (
            Span("orbiter", "ink-strong", bold=True),
            Span(f"{crumb}{above}", "ink-muted"),
            Span(here, "ink-accent"),
        )

    def on_mount(self) -> None:
        self._end = self.link.subscribe(self.link_changed)
        self._clock = self.set_interval(TICK_S, self._changed)
        self._draw(mounting=True)

    def on_unmount(self) -> None:
        if self._end is not None:
            self._end()

    def on_screen_suspend(self) -> None:
        self._covered = True
        if self._clock is not None:
            self._clock.pause()

    def on_screen_resume(self) -> None:
        if self._clock is not None:
            self._clock.resume()
        if self._covered:  # before it is painted: no frame says what was so before
            self._covered = False
            self._draw()
        else:
            self.pace.request()

    def link_changed(self) -> None:
        """The link knows more."""
        self._changed()

    def _changed(self) -> None:
        """Something changed, or a second went by. What is covered by another screen is drawn when it comes back:
        a covered screen that gets so much as a timer makes Textual repaint it, for ever, below an opaque one.
        """
        if self.is_active:
            self.pace.request()

    def _draw(self, *, mounting: bool = False) -> None:
        """`mounting`: what is in it is there, and Textual says so when this is done: the first frame has it then."""
        if not (self.is_mounted or mounting) or not self.is_active:
            return
        crumbs = self.query_one_optional("#crumbs", Bar)
        if crumbs is None:  # the screen is being taken down
            return
        try:
            crumbs.show(self.crumbs(), self._bars.link_text())
            self._bars.draw_lost()
            self.draw()
            self._note_waiting()
            self._bars.draw_hold(told_elsewhere=self.shows_hold)
            self.end_notice()
        except Exception as exc:  # one pane that fails must not take the console away from an operator
            self.report_failure(exc, "This screen could not be drawn whole")
        else:
            self.forget_failure()

    @property
    def shows_hold(self) -> bool:
        """Whether this screen says elsewhere how long an answer is held."""
        return False

    def all_told(self) -> bool:
        """Whether all runs and decisions are there; if not, it is said: what acts on many waits for the rest."""
        if told := self._bars.loading_text:
            self.show_message(
                f"This waits until all is loaded: {told} so far.", "warning", stands=lambda: bool(self.link.loading)
            )
        return not told

    # -- what this login may not do ---------------------------------------------------------------------------

    def why_withheld(self, action: str) -> str:
        """Why an action is not offered to this login; empty if it is, or nothing is known of where it would act."""
        acts = action.partition("(")[0] in self.ACTS
        return "" if not acts or self.session.may_act(self.run_here) else "this login may only look"

    def may_act(self) -> bool:
        """Whether the one who looks may do anything here; if not, it is said, with what helps."""
        if not self.session.may_act(self.run_here):
            self.show_message(f"A viewer may look, not act; {self.session.who_may}.", "warning")
            return False
        return True

    # -- what can be done everywhere --------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys for what cannot be done now are not offered."""
        if self.why_withheld(action):
            return None
        if action == "revive":
            return self.link.status.phase == "lost" and not self.link.status.mismatch
        if action == "login":  # before any other meaning of its key, but not of a letter that is typed
            return self.link.needs_login and not (self.focused is not None and self.focused.check_consume_key("r", "r"))
        if action == "up":
            return bool(self.came_from)
        return action != "take_back" or self.session.hold.held is not None

    def action_place(self, name: str) -> None:
        self.post_message(OpenPlace(name))

    def action_up(self) -> None:
        self.post_message(OpenHome())

    def action_step(self, step: int) -> None:
        self.post_message(GoStep(step))

    def action_leave(self) -> None:
        """Close the console. The runs go on."""
        self.app.exit()

    def action_help(self) -> None:
        from screens.dialogs.help import HelpScreen, help_groups  # not before the first screen is painted

        groups = help_groups(self, self.session.letters, self.decision_keys)
        self.app.push_screen(HelpScreen((), self.session.render_context(), groups=groups))

    def why_not(self, action: str) -> str:
        """Why an action of this screen cannot be done now, for those that say so; empty for others."""
        if why := self.why_withheld(action):
            return why
        return "the runtime is there" if action == "revive" and self.link.status.phase != "lost" else ""

    @property
    def run_here(self) -> str:
        """The run that this screen is about, or that is under its cursor; empty if there is none."""
        return str(getattr(self, "run_id", ""))

    def unbound_key_text(self, key: str) -> str:
        """What is said of a key that does nothing here, where it is one that counts elsewhere; empty for any other."""
        return ""

    def is_hinted(self, binding: Binding) -> bool:
        """Whether the last line names this key now: the way to the next decision, where one waits besides this."""
        return self._next_waits if binding.action == "next_decision" else binding.show

    def _note_waiting(self) -> None:
        waits = any(incident_id != self.incident_id for incident_id in self.link.incidents)
        if waits is not self._next_waits:
            self._next_waits = waits
            self.refresh_bindings()

    def action_next_decision(self) -> None:
        """Go to the decision that matters most (`runtime.judgement.reports.priority`).

        From one to the next, and round again.
        """
        waiting = self.session.decisions()
        keys = [found.opened.incident_id for found in waiting]
        here = self.incident_id
        found = waiting[(keys.index(here) + 1) % len(keys) if here in keys else 0] if waiting else None
        if found is None or found.opened.incident_id == here:
            so_far = " so far, of what is loaded" if self.link.loading else ""
            self.show_message(f"No {'other ' if here else ''}decision is waiting{so_far}.")
        else:
            self.post_message(OpenRun(found.run_id, found.opened.incident_id))

    @property
    def incident_id(self) -> str:
        """The incident that is being decided on this screen, if there is one."""
        return ""

    @property
    def decision_keys(self) -> Mapping[str, str]:
        """The keys that answer it, each with its label."""
        return {}

    def action_login(self) -> None:
        """As `revive`, under the key that the line names while a login is needed."""
        self.action_revive()

    def action_take_back(self) -> None:
        """Forget the answer that is not sent yet."""
        if (held := self.session.hold.take_back()) is not None:
            self.took_back(held)
        self.pace.request()

    def took_back(self, held: HeldAnswer) -> None:
        """An answer was taken back before it was sent."""
        self.show_message(f"Taken back, nothing was sent: {held.words}.")

    def action_revive(self) -> None:
        self.run_worker(self.revive(), group="revive", exclusive=True, exit_on_error=False)

    async def revive(self) -> None:
        """Bring a lost runtime back; with ssh asking on the terminal, if it has to."""
        self.show_message("starting the runtime", stands=lambda: self.link.status.phase == "lost")
        try:
            if self.link.needs_login:
                with self.app.suspend():  # the loop stands still meanwhile: the terminal is not ours
                    self.link.login()
            else:
                await self.link.revive()
        except LinkLost as exc:
            self.show_message(str(exc), "error", stands=lambda: self.link.status.phase == "lost")
        else:
            self.show_message("")

    # -- keys ------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """A key was pressed: what was said has been read."""
        self.session.last_key.press(event.key, self.session.monotonic())
        self.hide_message()

    def key_unused(self, key: str) -> None:
        """A key did nothing: say why, where that is known. The app calls it; to ask with each key is dear."""
        active = self.active_bindings.get(key)
        if active is None:
            if words := self.unbound_key_text(key_to_character(key) or ""):
                self.show_message(words)
        elif active.enabled:
            return
        elif self.why_withheld(active.binding.action):
            self.may_act()
        elif why := self.why_not(active.binding.action):
            self.show_message(f"{active.binding.description}: {why}.")
