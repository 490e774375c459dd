"""The text so far of a reply that a model streams."""

from __future__ import annotations

from msgspec import Struct


class StreamedText(Struct):
    """A reply while it streams."""

    attempt: int
    text: str = ""
    reasoning: str = ""
