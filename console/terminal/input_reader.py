"""The reader of what is typed: from the bytes of a terminal to Textual's messages.

That of Textual 8.2.8 ends with input that is not UTF-8 (textual#6668), goes on reading the end of its input, and takes
Escape for a key after a tenth of a second at the earliest (`textual/drivers/linux_driver.py`, `run_input_thread`).
"""

from __future__ import annotations

import codecs
import os
import selectors
import threading
from collections.abc import Callable
from typing import Final

from textual import constants
from textual._xterm_parser import XTermParser
from textual.message import Message

from console.terminal.pasted_text import PastedText

_READ_BYTES: Final = 4096
_ENDED_CHECK_S: Final = 0.1
"""How often, in seconds, it is seen whether reading is to end."""
_PASTE_SILENCE_S: Final = 0.5
"""Seconds after which the end of a paste is taken for lost, as a connection loses it: else no key would be heard."""


def read_input(fileno: int, ended: threading.Event, take: Callable[[Message], object]) -> None:
    """Hand on what is typed, until `ended` is set; for a thread of its own.

    Escape alone is a key once `textual.constants.ESCAPE_DELAY` has passed without the rest of a sequence. What is not
    UTF-8 is replaced: a mouse report in the old form has a byte for each coordinate, which is not UTF-8 beyond column
    95. The parser still recognises such a report, and drops it. A paste that goes on after a silence is a second paste.

    Args:
        fileno: The terminal, in raw mode.
        ended: Set where nothing more is to be read.
        take: Called with each message.

    Raises:
        EOFError: the input has ended.
        OSError: the terminal is gone.
    """
    parser = XTermParser()
    pasted = PastedText()
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    wait_s, silent_s = _ENDED_CHECK_S, 0.0
    with selectors.SelectSelector() as selector:
        selector.register(fileno, selectors.EVENT_READ)
        while not ended.is_set():
            text = ""
            if readable := selector.select(wait_s):
                if not (data := os.read(fileno, _READ_BYTES)):
                    raise EOFError
                text = pasted.hide(decoder.decode(data))  # empty: the rest of a character is still to come
            silent_s = 0.0 if readable else silent_s + wait_s
            if pasted.inside and silent_s >= _PASTE_SILENCE_S:
                text = pasted.break_off()
            for message in parser.feed(text) if text else ():
                take(pasted.restore(message))
            for message in parser.tick():
                take(message)
            wait_s = min(_ENDED_CHECK_S, constants.ESCAPE_DELAY) if readable else _ENDED_CHECK_S
            if pasted.inside:
                wait_s = min(wait_s, _PASTE_SILENCE_S)
