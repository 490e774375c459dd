"""Copy and export of screens: the clipboard, files and pictures, by key."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from console.app.export_files import exports_directory, write_export
from console.app.theming import ThemedApp
from console.preferences.schema import Preferences
from console.terminal.escape_sequences import COPY_BYTES, clipboard_sequence
from console.workspace import workspace

if TYPE_CHECKING:
    from screens.shell.messages import CopyText, ExportText, TakePicture


class ExportingApp(ThemedApp):
    """Says in a line where it put what was taken."""

    preferences: Preferences

    def write_terminal(self, sequence: str) -> None:
        """Write to the terminal, in its turn with what is painted."""
        if self._driver is not None:
            self._driver.write(sequence)

    @property
    def exports(self) -> Path:
        """Where files go: beside the journal of the directory that the console was opened in."""
        return exports_directory(workspace().state)

    @property
    def export_key(self) -> str:
        """What to press instead of copying."""
        keymap = self.preferences.keymap
        return (keymap.words()["app.export"] if keymap is not None else "f2") or "export, as a command,"

    def on_copy_text(self, message: CopyText) -> None:
        if not message.text.strip():
            self._show_message("There is nothing to copy.", "warning")
            return
        sequence = clipboard_sequence(message.text, os.environ) if self.preferences.copy == "terminal" else None
        if sequence is not None:
            self.write_terminal(sequence)
            self._show_message(
                f"copied {message.what} (OSC 52); if nothing arrives, {self.export_key} writes the pane to a file",
                "info",
            )
            return
        too_long = len(message.text.encode("utf-8", "replace")) > COPY_BYTES
        why = f"more than {COPY_BYTES:,} bytes, which terminals do not take: " if too_long else ""
        self._write(message.name, message.text, f"{why}{message.what} written to")

    def on_export_text(self, message: ExportText) -> None:
        self._write(message.name, f"{message.text}\n", "written to")

    def on_take_picture(self, _message: TakePicture) -> None:
        self._write("screen.svg", self.picture(), "picture written to")

    def _write(self, name: str, text: str, words: str) -> None:
        try:
            path = write_export(self.exports, name, text)
        except OSError as exc:
            self._show_message(f"{self.exports}: cannot be written: {exc.strerror or exc}", "error")
        else:
            self._show_message(f"{words} {path}", "info")
