"""The operator's editor."""

from __future__ import annotations

from pathlib import Path

from screens.shell.external_editor import edit_text


def test_what_no_utf8_can_say_comes_back_from_the_editor(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nprintf 'more' >> \"$1\"\n")
    editor.chmod(0o700)
    assert edit_text(str(editor), "half \ud83d, caf\udce9, \x1b[2J") == "half \ud83d, caf\udce9, \x1b[2J\nmore"
