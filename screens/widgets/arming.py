"""Arming on a widget or screen: the moment of `ArmedKeys` begins when Textual has painted the content."""

from __future__ import annotations

from collections.abc import Callable

from textual.widget import Widget

from screens.render.formatting import pluralize
from screens.render.layout import Spans, span
from screens.shell.context import ConsoleContext
from screens.shell.timer import Alarm

REPAINT_CHECK_S = 0.05
"""Seconds between two looks at whether the content is painted."""


class Arming:
    """What one widget asks of `ArmedKeys`. `changed` is called when keys begin to count, and when they no longer do."""

    def __init__(
        self,
        owner: Widget,
        session: ConsoleContext,
        changed: Callable[[], None],
        *,
        laid_out: Callable[[], bool] = lambda: True,
    ) -> None:
        """`laid_out` says whether the text that the keys decide about has its place on the screen."""
        self._owner = owner
        self._session = session
        self._changed = changed
        self._laid_out = laid_out
        self._keys = session.armed_keys()
        self._content: object = None
        self._alarm = Alarm(owner, self._check_painted)

    @property
    def armed(self) -> bool:
        """Whether a key counts now."""
        return self._keys.armed

    @property
    def is_asking(self) -> bool:
        """Whether keys decide about anything now."""
        return self._content is not None

    @property
    def ignored(self) -> int:
        """Keys that came too early since `forget`."""
        return self._keys.ignored

    def ask(self, content: object, *, second: bool = False) -> None:
        """Keys decide about `content` from now on. To be called whenever it may have changed; `second` as there."""
        if self._keys.ask(content, second=second):
            self._content = content
            self._owner.call_after_refresh(self._painted, content)
            self._changed()

    def forget(self) -> None:
        """Keys that came too early were about something else."""
        self._keys.ignored = 0

    def accept(self, key: str) -> bool:
        """Whether a key that acts counts. One that does not is counted as ignored, and waiting begins again."""
        if self._keys.accept(key):
            return True
        if self._keys.started:
            self._alarm.set(self._keys.remaining)
        self._changed()
        return False

    def ignored_text(self) -> Spans:
        """What to say of keys that were ignored; empty if none was."""
        return span(f"ignored {pluralize(self.ignored, 'key')}", "severity-warning") if self.ignored else ()

    def disarm(self) -> None:
        """Nothing is asked: no key counts."""
        self._keys.ask(None)
        self._content = None
        self._alarm.stop()

    def _painted(self, content: object) -> None:
        """The screen was refreshed. A text without a place, or a terminal that takes no writes, shows nothing yet."""
        if content is None or content != self._content:
            return
        if self._laid_out() and not self._session.governor.stuck:
            self._keys.content_painted(content)
            self._check_painted()
        else:
            self._alarm.set(REPAINT_CHECK_S)

    def _check_painted(self) -> None:
        if self._keys.armed:
            self._changed()
        elif self._keys.started:
            self._alarm.set(self._keys.remaining)
        else:
            self._owner.call_after_refresh(self._painted, self._content)
