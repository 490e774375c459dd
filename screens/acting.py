"""Before something is done to a run: what it touches is read, what it needs typed; then one fresh key does it."""

from __future__ import annotations

from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.timer import Timer

from screens.help import HelpPage
from screens.layout import Span, Spans, joined, span
from screens.link import Session
from screens.views.acts import Act
from screens.widgets.bar import Bar
from screens.widgets.editor import Editor
from screens.widgets.livepage import LivePage
from screens.widgets.pace import SOON
from screens.words import plural

Args = dict[str, Any]


class ActScreen(ModalScreen[Args | None]):
    """A page over the screen that asked for it. It gives the arguments of the act's verb, or None.

    Like the prompt it takes keys only after a moment, and says what it swallowed; `enter` alone never does it.
    """

    CSS_PATH = "acting.tcss"
    AUTO_FOCUS: ClassVar[str | None] = None
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "yes", "Yes, do it", id="ask.yes"),
        Binding("escape", "leave", "Leave it", key_display="esc", id="ask.leave"),
    ]

    def __init__(self, session: Session, act: Act) -> None:
        super().__init__()
        self._session = session
        self._act = act
        self._args: Args | None = None
        self._problem = ""
        self._ignored = 0
        self._armed = False
        self._timer: Timer | None = None

    def compose(self) -> ComposeResult:
        with Vertical(id="act") as box:
            box.border_title = Content(self._act.title)
            yield HelpPage()
            if self._act.asks is not None:
                label = Bar(id="label", ellipsis=self._session.glyphs.ellipsis)
                label.show(span(self._act.asks.label, "ink-accent"))
                yield label
                yield Editor()
            yield Bar(id="hint", ellipsis=self._session.glyphs.ellipsis)

    def on_mount(self) -> None:
        self.query_one(HelpPage).show(self._act.lines, "act")
        asks = self._act.asks
        if asks is None:
            self._ask()
        else:
            self.query_one(Editor).begin(asks.text, single=asks.single)
            self._hint()

    # -- one after the other: type, read, decide -------------------------------------------------------------

    def on_editor_sent(self, message: Editor.Sent) -> None:
        message.stop()
        try:
            args = self._act.filled(message.text)
        except ValueError as exc:
            self._problem = str(exc)
            self._hint()
            return
        if self._act.confirms:
            self._args = args
            self._problem = ""
            self._ask()
        else:
            self.dismiss(args)

    def _ask(self) -> None:
        """All is said: from a moment on one key does it."""
        if self._args is None:
            self._args = self._act.filled("")
        self.query_one(HelpPage).focus()
        self._disarm()

    def _disarm(self) -> None:
        self._armed = False
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_timer(max(SOON, self._session.arm_after), self._arm)
        self._hint()

    def _arm(self) -> None:
        self._armed = True
        self._hint()

    @property
    def armed(self) -> bool:
        """Whether `y` does it now."""
        return self._armed

    def _hint(self) -> None:
        self.query_one("#hint", Bar).show(self._hint_words(), self._below())

    def _hint_words(self) -> Spans:
        looks = self._session.looks()
        leave = (Span("esc", "ink-key"), Span(" leaves it", "ink-muted"))
        if self._problem:
            return span(looks.line(self._problem, 200), "severity-error")
        if self._args is None:
            asks = self._act.asks
            key = "enter" if asks is None or asks.single else "ctrl+s"
            then = " goes on, " if self._act.confirms else f": {self._act.yes}, "
            return (Span(key, "ink-key"), Span(then, "ink-muted"), *leave)
        swallowed = span(f"ignored {plural(self._ignored, 'key')}", "severity-warning") if self._ignored else ()
        ready = (Span("y", "ink-key"), Span(f": {self._act.yes}, "), *leave)
        return joined((swallowed, ready if self._armed else span("takes keys in a moment", "ink-muted")))

    def _below(self) -> Spans:
        below = self.query_one(HelpPage).below
        return span(f"{self._session.glyphs.more} {plural(below, 'more line')}", "severity-warning") if below else ()

    def on_live_page_seen(self, _message: LivePage.Seen) -> None:
        self._hint()

    # -- keys ------------------------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """While something is typed, `y` is a letter."""
        return self._args is not None if action == "yes" else True

    def action_yes(self) -> None:
        if not self._armed:
            self._ignored += 1
            self._disarm()
        else:
            self.dismiss(self._args)

    def action_leave(self) -> None:
        self.dismiss(None)

    def on_key(self, event: events.Key) -> None:
        """A key that means nothing here may have been meant for what was here before: the moment begins anew."""
        if self._args is not None and not self._armed and event.key not in ("y", "escape"):
            self._ignored += 1
            self._disarm()
