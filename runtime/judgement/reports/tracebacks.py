"""Tracebacks in which the frames of libraries are folded and the user's code stays in sight. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_FRAME = re.compile(r'^(?P<indent>[\s|+]*)File "(?P<path>[^"]+)", line (?P<line>\d+)(?:, in (?P<name>.*))?$')
_LIBRARY = re.compile(r"[/\\](?:site-packages|dist-packages|lib[/\\]python\d[^/\\]*)[/\\]|^<frozen |^<string>$")
_PROJECT_ROOT = Path(__file__).resolve().parents[3]
OUR_PACKAGES = ("orbiter", "runtime", "console", "screens", "themes")


def is_user_code(path: str) -> bool:
    """Whether a frame's file is neither a library's, Python's nor ours."""
    if _LIBRARY.search(path):
        return False
    return not any(path.startswith(f"{_PROJECT_ROOT / package}/") for package in OUR_PACKAGES)


def fold_traceback(text: str) -> str:
    """`text` with runs of frames that are not the user's as one line each; whole if no frame is the user's."""
    blocks = list(_blocks(text))
    if not any(path and is_user_code(path) for path, _ in blocks):
        return text
    lines: list[str] = []
    hidden = 0
    for path, block in blocks:
        if path and not is_user_code(path):
            hidden += 1
            continue
        lines.extend(_note(hidden))
        hidden = 0
        lines.extend(block)
    lines.extend(_note(hidden))
    return "\n".join(lines)


def _note(hidden: int) -> list[str]:
    return [f"  ... {hidden} frame{'' if hidden == 1 else 's'} of libraries"] if hidden else []


def _blocks(text: str) -> Iterator[tuple[str, list[str]]]:
    """Frames with their file, and what is between them without one."""
    path, block, depth = "", [], 0
    for line in text.splitlines():
        frame = _FRAME.match(line)
        inside = path and len(line) - len(line.lstrip(" |+")) > depth
        if frame is None and inside:
            block.append(line)
            continue
        if block:
            yield path, block
        path, block = (frame["path"], [line]) if frame is not None else ("", [line])
        depth = len(frame["indent"]) if frame is not None else 0
    if block:
        yield path, block
