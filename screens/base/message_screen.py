"""The base of screens that say things in a line: notices, what came of an act, and failures of the console itself."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from textual.worker import Worker, WorkerState

from screens.base.exportable_screen import ExportableScreen
from screens.base.notice_lines import digest_lines, notice_lines
from screens.render.layout import Span, Spans
from screens.render.sanitize import sanitize_line
from screens.shell.context import ConsoleContext, Notice
from screens.widgets.bar import Bar

log = logging.getLogger(__name__)


class MessageScreen(ExportableScreen):
    """Has a bar `#notice` for one line above the keys; what was said is kept among the notices."""

    def __init__(self, session: ConsoleContext) -> None:
        super().__init__()
        self.session = session
        self._failure = ""
        self._notice_stands: Callable[[], bool] | None = None

    # -- notices ---------------------------------------------------------------------------------------------

    def show_message(self, text: str, severity: str = "info", *, stands: Callable[[], bool] | None = None) -> None:
        """One line above the keys, until the next key, and among the notices. `text` may be foreign. `stands`: whether
        what it is about is still so; once it is not, the line goes by itself.
        """
        self._notice_stands = stands
        if text:
            self.session.said.append(Notice(self.session.clock(), severity, text))
        bar = self.query_one("#notice", Bar)
        ascii_only = self.session.glyphs.name == "ascii"
        bar.show((Span(sanitize_line(text, limit=400, ascii_only=ascii_only), f"severity-{severity}"),))
        bar.set_class(bool(text), "-shown")

    def end_notice(self) -> None:
        """What is past is not said any more."""
        if self._notice_stands is not None and not self._notice_stands():
            self._notice_stands = None
            self.hide_message()

    def hide_message(self) -> None:
        """What was said has been read, or is past."""
        self.query_one("#notice", Bar).remove_class("-shown")

    def action_notices(self) -> None:
        """What was said in a line so far, the newest first."""
        self._read(notice_lines(self.session.said, self.session.render_context()), "Notices")

    def action_digest(self) -> None:
        """What happened while the operator was away."""
        self._read(digest_lines(self.session.away, self.session.render_context()), "While you were away")

    def _read(self, lines: Sequence[Spans], title: str) -> None:
        from screens.dialogs.help import HelpScreen

        self.app.push_screen(HelpScreen(lines, self.session.render_context(), title))

    # -- failures --------------------------------------------------------------------------------------------

    def handler_failed(self, error: Exception) -> bool:
        """A handler that fails is a line: the screen stands, and the next key is taken. Not while it is being made:
        what is made by half is closed by the app.

        Returns:
            Whether the error is dealt with.
        """
        if not self.is_mounted or not self.is_running:
            return False
        self._failure = ""
        self.report_failure(error, "This did not work")
        return True

    def on_worker_state_changed(self, message: Worker.StateChanged) -> None:
        """What was begun in the background failed for an unexpected reason."""
        if message.state is WorkerState.ERROR and isinstance(message.worker.error, Exception):
            self._failure = ""
            self.report_failure(message.worker.error, "This did not work")

    def forget_failure(self) -> None:
        """The next failure is said, even in the same words."""
        self._failure = ""

    def report_failure(self, exc: Exception, what: str) -> None:
        """Logged once, said in a line; the next change is drawn again."""
        words = f"{type(exc).__name__}: {exc}"
        if words != self._failure:
            self._failure = words
            log.error("%s", what, exc_info=exc)
            self.show_message(f"{what}, please report it: {words}", "error")
