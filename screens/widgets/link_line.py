"""The line in a dialog that says that the link is cut."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

from screens.render.layout import Spans, span
from screens.shell.context import ConsoleContext
from screens.widgets.bar import MessageBar


class LinkLine(MessageBar):
    """Takes no room while the link stands. What is typed stays: it can be sent when the runtime is there again."""

    DEFAULT_CSS = """
    LinkLine { display: none; }
    LinkLine.-shown { display: block; }
    """

    @dataclass
    class Back(Message):
        """The runtime is there again."""

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__(ellipsis=session.glyphs.ellipsis, id="link")
        self._session = session
        self._end: Callable[[], None] = lambda: None

    def on_mount(self) -> None:
        self._end = self._session.link.subscribe(self._look)
        self._look()

    def on_unmount(self) -> None:
        self._end()

    def _look(self) -> None:
        if not self.is_attached:
            return
        words = self._words()
        if self.has_class("-shown") and not words:
            self.post_message(self.Back())
        self.set_class(bool(words), "-shown")
        self.show(words)

    def _words(self) -> Spans:
        context, status = self._session.render_context(), self._session.link.status
        why = f": {context.sanitize_line(status.reason, 300)}" if status.reason else ""
        if status.phase == "lost":
            again = "app.login" if self._session.link.needs_login else "app.revive"
            key = context.key(again, "r" if self._session.link.needs_login else "b")
            back = f", {key} outside of here brings it back" if key else ""
            return span(
                f"{context.glyphs.state['failed']} No runtime{back}{why}; nothing here is lost", "severity-error"
            )
        if status.phase == "connecting" and status.reason:
            return span(f"{context.glyphs.state['retrying']} connecting{why}; nothing here is lost", "severity-warning")
        return ()
