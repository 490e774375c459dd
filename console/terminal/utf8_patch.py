"""Patch of Textual: input that is not UTF-8 does not end the console.

A terminal that is attached again through tmux may send mouse reports in the old form, whose coordinates are bytes; one
beyond column 95 is not UTF-8, and the reader of Textual 8.2.8 ends with it (textual#6668). Read with replacement
characters the report is still recognised as one, and dropped. Textual offers no other place for this than the name that
its driver looks its decoder up by; a test in a real terminal says whether that still works.
"""

from __future__ import annotations

import codecs
from functools import partial

from textual.drivers import linux_driver


def install_utf8_patch() -> None:
    """From now on Textual's reader of this process replaces what is not UTF-8. Before the app is run."""
    linux_driver.getincrementaldecoder = _decoder  # type: ignore[assignment, attr-defined]


class _Decoder:
    """Replaces bytes that are not valid in the encoding. No bytes at all are the end of the input: Textual would go on
    reading them as fast as it can.
    """

    def __init__(self, encoding: str) -> None:
        self._decoder = codecs.getincrementaldecoder(encoding)(errors="replace")

    def decode(self, data: bytes, final: bool = False) -> str:
        """Raises EOFError: there is no more input."""
        if not data:
            raise EOFError
        return self._decoder.decode(data, final)


def _decoder(encoding: str) -> partial[_Decoder]:
    return partial(_Decoder, encoding)
