"""Reloads settings while the console is open, when `orbiter.toml` is edited."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from console.app.messages import ShowMessage
from orbiter.errors import ConfigurationError

if TYPE_CHECKING:
    from console.preferences.schema import Preferences
    from runtime.judgement.reports.notices import NoticeRules


class ConfigReloader:
    """Reads the files again when it is told to.

    Args:
        suspend: Gives the terminal to an editor meanwhile.
        current: Gives the preferences that hold now.
        apply: Makes others hold, with the rules of notices that they have.
        show: Says what came of it.
    """

    def __init__(
        self,
        suspend: Callable[[], AbstractContextManager[None]],
        current: Callable[[], Preferences],
        apply: Callable[[Preferences, NoticeRules], None],
        show: ShowMessage,
    ) -> None:
        self._suspend = suspend
        self._current = current
        self._apply = apply
        self._show = show

    def edit(self, source: str) -> None:
        """Open the file that a setting stands in (`source`: FILE:LINE), else that of this directory, in the operator's
        editor; then read.
        """
        from console.preferences.loader import preference_files
        from screens.shell import external_editor

        files = preference_files()
        path = next((path for path in files if source.startswith(str(path))), files[-1])
        command = external_editor.editor_command()
        if not command:
            self._show(f"neither $VISUAL nor $EDITOR is set: edit {path}, then read it again", "warning")
            return
        try:
            with self._suspend():
                external_editor.open_in(command, path)
        except (external_editor.EditorFailed, SuspendNotSupported) as exc:
            self._show(str(exc), "error")
        else:
            self.read()

    def read(self) -> None:
        """A file that cannot be used changes nothing, and what is wrong in it is said."""
        from console.app.notifications import console_rules
        from console.preferences.loader import workspace_preferences

        try:
            found = workspace_preferences()
            rules = console_rules(found.notices)
        except ConfigurationError as exc:
            self._show(f"Nothing is changed: {'; '.join(str(exc).splitlines())}", "error")
            return
        now = self._current()
        later = [name for name in ("mouse", "title", "idle_gc") if getattr(found, name) != getattr(now, name)]
        self._apply(found, rules)
        next_time = f"; at the next start: {', '.join(later)}" if later else ""
        self._show(f"read again: keys, theme, copy and notices hold from now on{next_time}", "info")
