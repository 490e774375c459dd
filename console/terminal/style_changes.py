"""What is written to the terminal says of each style only what differs from the one before.

Rich and Textual write every piece of text with its whole style before it and a reset behind it: some 45 bytes in true
colour, where mostly the foreground alone is another (`rich/style.py`, `Style.render`). On a slow line these bytes are
most of what there is to wait for. The codes are those of "Select Graphic Rendition" (SGR, ECMA-48 section 8.3.117,
https://ecma-international.org/publications-and-standards/standards/ecma-48/).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_CODES = re.compile(r"\x1b\[0m(?P<move>(?:\x1b\[\d+;\d+H)?)\x1b\[(?P<after>[\d;]+)m|\x1b\[(?P<alone>[\d;:]*)m")
"""A reset with the style of the next text behind it, the cursor moved or not between them; or codes by themselves."""
_RESET = ("", "0")
_FLAGS = frozenset(map(str, range(1, 10)))
"""Bold, dim, italic, underlined, blinking slowly and fast, reverse, concealed, struck out."""
_FOREGROUNDS = frozenset(map(str, (*range(30, 38), *range(90, 98))))
_BACKGROUNDS = frozenset(map(str, (*range(40, 48), *range(100, 108))))
_COLOR_LENGTHS = {"5": 3, "2": 5}
"""Numbers of a colour after 38 or 48, these included: ``38;5;N`` and ``38;2;R;G;B``."""


class _Style(NamedTuple):
    flags: frozenset[str] = frozenset()
    foreground: str = ""
    background: str = ""


def shorten_styles(text: str) -> str:
    """The same for the eye, with fewer bytes.

    Args:
        text: One write of the terminal's driver. How the terminal is set before it does not matter.

    Returns:
        The text with codes that set the terminal, before each character, as those of `text` do.
    """
    current: str | None = None  # how the terminal is set; None: not known

    def change(match: re.Match[str]) -> str:
        nonlocal current
        before, wanted = current, match["after"]
        if wanted is not None:
            current = wanted
            return match["move"] + _codes_between(before, wanted)
        alone = match["alone"]
        # Codes that come on top of others set the terminal to something that is not worked out.
        known = "" if alone in _RESET else alone
        current = known if before == "" or not known else None
        return match[0]

    return _CODES.sub(change, text)


@lru_cache(maxsize=4096)
def _codes_between(before: str | None, wanted: str) -> str:
    """What sets a terminal to the codes `wanted` and nothing else that is set to the codes `before`."""
    if before == wanted:
        return ""
    old, new = _parse(before or ""), _parse(wanted)
    if before is None or old is None or new is None or old.flags - new.flags:
        return f"\x1b[0;{wanted}m"
    codes = sorted(new.flags - old.flags)
    if new.foreground != old.foreground:
        codes.append(new.foreground or "39")
    if new.background != old.background:
        codes.append(new.background or "49")
    return f"\x1b[{';'.join(codes)}m" if codes else ""


def _parse(codes: str) -> _Style | None:
    """The style that codes make of a terminal that is reset; None for codes that are not known here."""
    flags: set[str] = set()
    colors = {"38": "", "48": ""}
    left = codes.split(";") if codes else []
    while left:
        first = left[0]
        taken = 1
        if first in _FLAGS:
            flags.add(first)
        elif first in _FOREGROUNDS:
            colors["38"] = first
        elif first in _BACKGROUNDS:
            colors["48"] = first
        elif first in colors and len(left) > 1 and len(left) >= (taken := _COLOR_LENGTHS.get(left[1], 999)):
            colors[first] = ";".join(left[:taken])
        else:
            return None
        left = left[taken:]
    return _Style(frozenset(flags), colors["38"], colors["48"])
