"""The bars of a screen that say how things stand: the link in the top line, a lost runtime, an answer that is held."""

from __future__ import annotations

from screens.base.message_screen import MessageScreen
from screens.render.formatting import pluralize
from screens.render.layout import Span, Spans, join_spans, span
from screens.views.shared.link_loss import held_up_words, lost_words, phase_words
from screens.views.shared.link_quality import link_words
from screens.views.shared.picture_progress import progress_text
from screens.widgets.bar import MessageBar


class StatusBars:
    """Fills the bars `#lost` and `#held` of `screen`, and says what its top line has at the right."""

    def __init__(self, screen: MessageScreen) -> None:
        self._screen = screen
        self._session = screen.session
        self._standing: object = None
        self._holding = False

    @property
    def loading_text(self) -> str:
        """How much of all runs and decisions is there; empty where all are."""
        link = self._session.link
        return progress_text(link.loading, len(link.summaries), len(link.incidents)) if link.loading else ""

    def link_text(self) -> Spans:
        """The decisions that wait, and how the link is."""
        link, context = self._session.link, self._session.render_context()
        waiting, loading = len(link.incidents), self.loading_text
        count = (*context.state_spans("waiting", pluralize(waiting, "decision")),) if waiting and not loading else ()
        quality = self._session.governor.told_quality
        return join_spans(
            (
                () if quality == "good" else span(f"{quality} terminal link", "severity-warning"),
                count or span(loading, "severity-warning"),
                phase_words(link.status, context),
                link_words(link.qualities, context),
            )
        )

    def draw_lost(self) -> None:
        """Say that the runtime is lost, or what holds it up. What can be done changes with it, and so do the keys."""
        link, context = self._session.link, self._session.render_context()
        if link.status.phase == "lost":
            words = lost_words(link.status, self._reconnect_hint(), context)
        else:
            words = held_up_words(link.qualities, context)
        self._show("#lost", words)
        standing = (link.status.phase, link.status.mismatch, link.role)
        if standing != self._standing:
            self._standing = standing
            self._screen.refresh_bindings()

    def draw_hold(self, *, told_elsewhere: bool) -> None:
        """Say which answer can still be taken back, on every screen: it goes out wherever the operator is by then.

        Args:
            told_elsewhere: whether the screen has another place for it.
        """
        held = self._session.hold.held
        words: Spans = ()
        if held is not None and not told_elsewhere:
            key = self._session.render_context().key("app.take_back", "ctrl+t")
            back = (Span(": ", "ink-muted"), Span(key, "ink-key"), Span(" takes it back", "ink-muted")) if key else ()
            words = (*span(f"{held.words} sends in {self._session.hold.seconds_left} s", "state-waiting"), *back)
        self._show("#held", words)
        if (held is not None) is not self._holding:
            self._holding = held is not None
            self._screen.refresh_bindings()

    def _show(self, name: str, words: Spans) -> None:
        bar = self._screen.query_one(name, MessageBar)
        bar.set_class(bool(words), "-shown")
        if words:
            bar.show(words)

    def _reconnect_hint(self) -> Spans:
        needs_login = self._session.link.needs_login
        action, words = ("app.login", " logs in again") if needs_login else ("app.revive", " brings it back")
        active = (each.binding for each in self._screen.active_bindings.values())
        key = next((self._screen.app.get_key_display(each) for each in active if each.id == action), "b")
        return (Span(key, "ink-key"), Span(words))
