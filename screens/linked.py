"""What every screen on a runtime does: look at what is known when something changed, and say how the link is."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen

from runtime.link.client import LinkLost
from screens.help import HelpScreen, help_lines
from screens.layout import Span, Spans, joined, span
from screens.link import Link, Session
from screens.messages import OpenRun
from screens.text import clean_line
from screens.views.inbox import in_order
from screens.widgets.bar import Bar
from screens.widgets.foot import Foot
from screens.widgets.pace import Pace
from screens.words import plural

TICK = 1.0
"""Seconds between two looks at the clock: ages and countdowns go on though nothing happens."""


class LinkedScreen(Screen[None]):
    """Has a crumb line at the top, a notice and the keys at the bottom; `body` is between, `draw` fills it."""

    DEFAULT_CSS = """
    LinkedScreen {
        background: $surface;
        #crumbs { background: $panel; }
        #lost, #notice { display: none; }
        #lost.-shown, #notice.-shown { display: block; }
    }
    """

    AUTO_FOCUS: ClassVar[str | None] = "LineView"
    BINDING_GROUP_TITLE = "Everywhere"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "next_decision", "Next decision", id="app.next_decision"),
        Binding("b", "revive", "Bring the runtime back", id="app.revive"),
        Binding("question_mark,f1", "help", "Help", key_display="?", id="app.help"),
        Binding("q,ctrl+q,ctrl+c", "leave", "Quit", key_display="q", id="app.quit"),
    ]
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - Textual's own, no ClassVar
    VERTICAL_BREAKPOINTS = [(0, "-low"), (32, "-high")]  # noqa: RUF012

    def __init__(self, session: Session) -> None:
        super().__init__()
        self.session = session
        self.pace = Pace(self, self._draw)
        self._end: Callable[[], None] | None = None
        self._phase = ""

    @property
    def link(self) -> Link:
        return self.session.link

    def compose(self) -> ComposeResult:
        """The frame; what is in it comes from `body`."""
        ellipsis = self.session.glyphs.ellipsis
        yield Bar(id="crumbs", ellipsis=ellipsis)
        yield from self.body()
        yield Bar(id="lost", ellipsis=ellipsis)
        yield Bar(id="notice", ellipsis=ellipsis)
        yield Foot(id="foot", ellipsis=ellipsis)

    def body(self) -> ComposeResult:
        """The panes of this screen."""
        raise NotImplementedError

    def draw(self) -> None:
        """Show what is known now. Called at most ten times a second."""
        raise NotImplementedError

    def crumbs(self) -> Spans:
        """Where this screen stands."""
        raise NotImplementedError

    def on_mount(self) -> None:
        self._end = self.link.subscribe(self.pace.request)
        self.set_interval(TICK, self.pace.request)
        self._draw()

    def on_unmount(self) -> None:
        if self._end is not None:
            self._end()

    def on_screen_resume(self) -> None:
        self.pace.request()

    def _draw(self) -> None:
        if not self.is_mounted or not self.is_active:
            return  # what is covered is drawn when it comes back; Textual would repaint it under an opaque screen
        self.query_one("#crumbs", Bar).show(self.crumbs(), self._link_words())
        self._draw_lost()
        self.draw()

    def _draw_lost(self) -> None:
        status = self.link.status
        bar = self.query_one("#lost", Bar)
        bar.set_class(status.phase == "lost", "-shown")
        if status.phase == "lost":
            why = self.session.looks().line(status.reason, 200)
            bar.show(
                (
                    Span(f"{self.session.glyphs.state['failed']} No runtime: ", "severity-error", bold=True),
                    Span(f"{why}. What you see is what was known last.  ", "severity-error"),
                    Span("b", "ink-key"),
                    Span(" brings it back", "ink"),
                )
            )
        if status.phase != self._phase:
            self._phase = status.phase
            self.refresh_bindings()

    def _link_words(self) -> Spans:
        waiting = len(self.link.incidents)
        looks = self.session.looks()
        status = self.link.status
        count = (*looks.state("waiting", plural(waiting, "decision")),) if waiting else ()
        state = () if status.phase == "connected" else span(status.phase, "severity-warning")
        return joined((count, state))

    # -- what can be done everywhere --------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys for what cannot be done now are not offered."""
        if action == "revive":
            return self.link.status.phase == "lost"
        return True

    def action_leave(self) -> None:
        """Close the console. The runs go on."""
        self.app.exit()

    def action_help(self) -> None:
        self.app.push_screen(HelpScreen(help_lines(self)))

    def action_next_decision(self) -> None:
        """Go to the decision that has been waiting longest, other than the one that is shown."""
        waiting = in_order(self.link.incidents.values())
        here = self.incident_id
        found = next((one for one in waiting if one.opened.incident_id != here), None)
        if found is None:
            self.say("No other decision is waiting." if here else "No decision is waiting.")
        else:
            self.post_message(OpenRun(found.run_id, found.opened.incident_id))

    @property
    def incident_id(self) -> str:
        """The incident that is being decided on this screen, if there is one."""
        return ""

    def action_revive(self) -> None:
        self.run_worker(self.revive(), group="revive", exclusive=True, exit_on_error=False)

    # -- notices ---------------------------------------------------------------------------------------------

    def say(self, text: str, severity: str = "info") -> None:
        """One line above the keys, until the next key. `text` may be foreign."""
        bar = self.query_one("#notice", Bar)
        ascii_only = self.session.glyphs.name == "ascii"
        bar.show((Span(clean_line(text, limit=400, ascii_only=ascii_only), f"severity-{severity}"),))
        bar.set_class(bool(text), "-shown")

    def on_key(self, event: events.Key) -> None:
        """A key was pressed: what was said has been read."""
        self.query_one("#notice", Bar).remove_class("-shown")

    async def revive(self) -> None:
        """Bring a lost runtime back."""
        self.say("starting the runtime")
        try:
            await self.link.revive()
        except LinkLost as exc:
            self.say(str(exc), "error")
        else:
            self.say("")
