"""What a model has said so far of the reply that it streams."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class StreamedText:
    """A reply while it streams."""

    attempt: int
    text: str = ""
    reasoning: str = ""
