"""The operator's own editor (`$EDITOR`), for long texts."""

from __future__ import annotations

import os
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from screens.shell import streams


class EditorFailed(Exception):
    """There is no such editor, or it did not end well; nothing of what was typed in it counts."""


def editor_command(environment: Mapping[str, str] | None = None) -> str:
    """The command of the operator's editor, from ``$VISUAL`` or ``$EDITOR``; empty where neither is set."""
    found = os.environ if environment is None else environment
    return (found.get("VISUAL") or found.get("EDITOR") or "").strip()


def edit_text(command: str, text: str, suffix: str = ".txt") -> str:
    """What becomes of `text` in the editor, without the line feed that editors put at the end. The terminal is the
    editor's until it ends, and so is this thread. The file is the operator's alone, and gone afterwards.

    Raises:
        EditorFailed: the editor cannot be started, says that it failed, or left no text.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="orbiter-") as directory:
            file = Path(directory, f"answer{suffix}")
            file.write_text(f"{text}\n" if text else "", encoding="utf-8", errors="surrogatepass")
            file.chmod(0o600)
            open_in(command, file)
            return file.read_text(encoding="utf-8", errors="surrogatepass").removesuffix("\n")
    except (OSError, ValueError) as exc:
        raise EditorFailed(f"the editor {command!r} cannot be used: {exc}") from exc


def open_in(command: str, file: Path) -> None:
    """Give the terminal to the editor until it ends.

    Raises:
        EditorFailed: it cannot be started, or says that it failed.
    """
    try:
        words, own = shlex.split(command), streams.are_own()
        code = subprocess.run(  # noqa: S603 - the operator's own
            [*words, str(file)],
            check=False,
            stdin=streams.stdin() if own else None,
            stdout=streams.stdout() if own else None,
            stderr=streams.stderr() if own else None,
        ).returncode
    except (OSError, ValueError, IndexError) as exc:
        raise EditorFailed(f"the editor {command!r} cannot be used: {exc}") from exc
    if code:
        raise EditorFailed(f"{words[0]} ended with code {code}: the text stays as it was")
