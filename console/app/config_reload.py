"""Reloads settings while the console is open, when `orbiter.toml` is edited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import SuspendNotSupported

from console.app.error_handling import ErrorHandlingApp
from orbiter.errors import ConfigurationError
from screens.shell.messages import EditSettings, ReadSettings

if TYPE_CHECKING:
    from console.app.notifications import Notifications
    from screens.shell.context import ConsoleContext


class ReloadingApp(ErrorHandlingApp):
    """Reads the files again when it is told to."""

    _notifier: Notifications | None = None

    @property
    def session(self) -> ConsoleContext:
        raise NotImplementedError

    def on_edit_settings(self, message: EditSettings) -> None:
        """Open the file that a setting stands in, else that of this directory, in the operator's editor; then read."""
        from console.preferences.loader import preference_files
        from screens.shell import external_editor

        files = preference_files()
        path = next((path for path in files if message.source.startswith(str(path))), files[-1])
        command = external_editor.editor_command()
        if not command:
            self._show_message(f"neither $VISUAL nor $EDITOR is set: edit {path}, then read it again", "warning")
            return
        try:
            with self.suspend():
                external_editor.open_in(command, path)
        except (external_editor.EditorFailed, SuspendNotSupported) as exc:
            self._show_message(str(exc), "error")
        else:
            self.on_read_settings(ReadSettings())

    def on_read_settings(self, _message: ReadSettings) -> None:
        """A file that cannot be used changes nothing, and what is wrong in it is said."""
        from console.app.notifications import console_rules
        from console.preferences.loader import workspace_preferences

        try:
            found = workspace_preferences()
            rules = console_rules(found.notices)
        except ConfigurationError as exc:
            self._show_message(f"Nothing is changed: {'; '.join(str(exc).splitlines())}", "error")
            return
        later = [name for name in ("mouse", "title") if getattr(found, name) != getattr(self.preferences, name)]
        self.preferences = found
        keymap = found.keymap
        self.set_keymap(keymap.for_textual() if keymap is not None else {})
        self.session.name_keys(
            keymap.words() if keymap is not None else {}, keymap.letters() if keymap is not None else None
        )
        if self._notifier is not None:
            self._notifier.set_rules(rules)
        if found.theme in self.available_themes:
            self.theme = found.theme
        next_time = f"; at the next start: {', '.join(later)}" if later else ""
        self._show_message(f"read again: keys, theme, copy and notices hold from now on{next_time}", "info")
