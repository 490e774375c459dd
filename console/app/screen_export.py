"""Copy and export of screens: the clipboard, files and pictures, by key."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App

from console.app.export_files import exports_directory, write_export
from console.app.messages import ShowMessage
from console.preferences.schema import Preferences
from console.terminal.escape_sequences import COPY_BYTES, clipboard_sequence
from console.workspace import workspace

if TYPE_CHECKING:
    from screens.shell.messages import CopyText


def screen_picture(app: App[Any]) -> str:
    """What an app shows, as SVG. Blanks at the beginning of a text are kept: some renderers drop them, and then words
    stand at the wrong place.
    """
    return app.export_screenshot(title="orbiter-console").replace("<svg ", '<svg xml:space="preserve" ', 1)


class ScreenExporter:
    """Puts texts into the clipboard or into files, and says in a line where.

    Args:
        preferences: Gives those that hold now: where copies go, and the key of exports.
        write: Writes to the terminal, in its turn with what is painted.
        show: Says where it was put.
    """

    def __init__(self, preferences: Callable[[], Preferences], write: Callable[[str], None], show: ShowMessage) -> None:
        self._preferences = preferences
        self._write_terminal = write
        self._show = show

    @property
    def _directory(self) -> Path:
        """Where files go: beside the journal of the directory that the console was opened in."""
        return exports_directory(workspace().state)

    @property
    def _export_key(self) -> str:
        """What to press instead of copying."""
        keymap = self._preferences().keymap
        return (keymap.words()["app.export"] if keymap is not None else "f2") or "export, as a command,"

    def copy(self, message: CopyText) -> None:
        """Into the clipboard, or where that cannot be, into a file."""
        if not message.text.strip():
            self._show("This pane has nothing to copy.", "warning")
            return
        sequence = clipboard_sequence(message.text, os.environ) if self._preferences().copy == "terminal" else None
        if sequence is not None:
            self._write_terminal(sequence)
            self._show(
                f"copied {message.what} (OSC 52); if nothing arrives, {self._export_key} writes the pane to a file",
                "info",
            )
            return
        too_long = len(message.text.encode("utf-8", "replace")) > COPY_BYTES
        why = f"more than {COPY_BYTES:,} bytes, which terminals do not take: " if too_long else ""
        self.write_file(message.name, message.text, f"{why}{message.what} written to")

    async def write_report(self, run_id: str, export: str) -> None:
        """Write the HTML report of a run, made on a thread: of a long run it takes a second."""
        from console.html.page import html_report  # most consoles never write one
        from runtime.judgement.reports.export_file import InvalidExport

        try:
            page = await asyncio.to_thread(html_report, export)
        except InvalidExport as exc:
            self._show(f"The report cannot be written: {exc}", "error")
            return
        self.write_file(f"{run_id}.html", page, "report for a browser written to")

    def write_file(self, name: str, text: str, words: str) -> None:
        """Write a new file; `words` say what it is."""
        try:
            path = write_export(self._directory, name, text)
        except OSError as exc:
            self._show(f"{self._directory}: cannot be written: {exc.strerror or exc}", "error")
        else:
            self._show(f"{words} {path}", "info")
