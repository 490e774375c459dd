"""Keeps what is pasted one text: an Escape in it begins no key.

The parser of Textual 8.2.8 takes what follows an Escape in a bracketed paste for keys, which come before the paste
(docs/upstream/pasted-escapes.md). At a prompt a key decides, and who pastes a log with colours pressed none.
"""

from __future__ import annotations

import re
from typing import Final

from textual import events
from textual.message import Message

_ESC: Final = "\x1b"
_BEGIN: Final = "\x1b[200~"
_END: Final = "\x1b[201~"
_STAND_IN: Final = "\ufdd0"
"""What the parser is given for an Escape that was pasted: a character that no text has."""
_KEYS: Final = re.compile(r".|(?:\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\x1b\[O])?)+", re.DOTALL)
"""What a person, or the terminal, sends at once: a character, or whole sequences."""


class PastedText:
    """What a terminal sends, on its way into the parser and out of it."""

    def __init__(self) -> None:
        self._inside = False
        self._last = ""
        """The last characters outside of a paste, as many as its beginning has."""
        self._held = ""
        """What may be the beginning of a paste's end."""
        self._broken_off = False
        """A paste has just been left without its end."""

    @property
    def inside(self) -> bool:
        """Whether a paste has begun that has not ended."""
        return self._inside

    def hide(self, text: str) -> str:
        """`text` for the parser: without an Escape inside of a paste. What may be the end of one is kept for the next
        call.
        """
        resumed = ""
        if self._broken_off and text:
            self._broken_off = False
            if _KEYS.fullmatch(text) is None and not text.startswith(_BEGIN):
                self._inside, resumed = True, _BEGIN
        if not self._inside and _ESC not in text and _ESC not in self._last and not self._held:
            return text
        return resumed + "".join(map(self._next, text))

    def break_off(self) -> str:
        """Leave a paste whose end does not come: what is there is given out, and keys are keys again. If several
        characters come next, they are the rest of it.

        Returns:
            What ends it for the parser.
        """
        rest, self._held = self._held.replace(_ESC, _STAND_IN), ""
        self._inside, self._broken_off = False, True
        return rest + _END

    def restore(self, message: Message) -> Message:
        """What the parser made of it: a paste has its Escapes again."""
        if isinstance(message, events.Paste):
            message.text = message.text.replace(_STAND_IN, _ESC)
        return message

    def _next(self, character: str) -> str:
        if not self._inside:
            self._last = f"{self._last}{character}"[-len(_BEGIN) :]
            if self._last == _BEGIN:
                self._inside, self._last = True, ""
            return character
        self._held += character
        if self._held == _END:
            self._inside, self._held = False, ""
            return _END
        if _END.startswith(self._held):
            return ""
        passed, self._held = (self._held[:-1], _ESC) if character == _ESC else (self._held, "")
        return passed.replace(_ESC, _STAND_IN)
