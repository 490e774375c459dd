"""Escape sequences: clipboard (OSC 52), title (OSC 2), notices. Pure: sequences as text.

Inside tmux and screen a sequence for the terminal outside has to be wrapped (DCS passthrough), else the multiplexer
takes it for its own.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Final

from screens.render.sanitize import sanitize_line

COPY_BYTES: Final = 74_994
"""The longest text that terminals take: 100,000 characters of base 64, as k9s and others keep to."""
_SCREEN_PIECE: Final = 512
"""GNU screen drops a string sequence of more than 768 bytes."""
_CONTROLS: Final = r"[\x00-\x1f\x7f-\x9f]+"

SAVE_TITLE: Final = "\x1b[22;2t"
"""XTWINOPS: push the window's title on the terminal's stack."""
RESTORE_TITLE: Final = "\x1b]2;\x07\x1b[23;2t"
"""And pop it; a terminal that has no such stack is left without one of ours."""


def clipboard_sequence(text: str, environment: Mapping[str, str]) -> str | None:
    """The sequence that puts `text` on the clipboard; None where it is too long for that.

    Inside tmux it is said twice: wrapped, for a tmux that passes things through (`allow-passthrough`), and bare, for
    one that has the clipboard as its own business (`set-clipboard on`).
    """
    data = text.encode("utf-8", "replace")
    if len(data) > COPY_BYTES:
        return None
    bare = f"\x1b]52;c;{base64.b64encode(data).decode()}\x07"
    whole = wrap_for_multiplexer(bare, environment)
    return whole + bare if environment.get("TMUX") else whole


def wrap_for_multiplexer(sequence: str, environment: Mapping[str, str]) -> str:
    """A sequence as it reaches the terminal outside of tmux or screen; as it is where there is neither."""
    if environment.get("TMUX"):
        return "\x1bPtmux;" + sequence.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if environment.get("STY") or environment.get("TERM", "").startswith("screen"):
        pieces = (sequence[at : at + _SCREEN_PIECE] for at in range(0, len(sequence), _SCREEN_PIECE))
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return sequence


def title_sequence(text: str) -> str:
    """The sequence that sets the terminal's title; tmux and screen take it for that of their window."""
    return f"\x1b]2;{sanitize_line(re.sub(_CONTROLS, ' ', text), limit=200)}\x07"


def has_title(environment: Mapping[str, str]) -> bool:
    """Whether the terminal has a title at all: the consoles of Linux and BSD have none."""
    return environment.get("TERM", "") not in {"", "dumb", "linux", "cons25", "vt100", "vt220"}
