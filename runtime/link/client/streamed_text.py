"""The text so far of a reply that a model streams."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class StreamedText:
    """A reply while it streams."""

    attempt: int
    text: str = ""
    reasoning: str = ""
