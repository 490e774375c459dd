"""The limit of a report's size: what still fits, and how much was left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from console.html.markup import Html, size_of


@dataclass(frozen=True, slots=True)
class ReportSizes:
    """Bytes that each part of a report may have.

    Attributes:
        events: the list of events.
        tree: the lines of the tree.
        payloads: messages, arguments and results.
        incidents: incidents with their reports.
        capsule: the export inside. A run whose export is larger still has a report, without it.
        bars: rows of the timeline, in rows. Of more nodes, agents and groups have one, then what failed, then what took
            longest.
    """

    events: int = 600_000
    tree: int = 450_000
    payloads: int = 400_000
    incidents: int = 300_000
    capsule: int = 8_000_000
    bars: int = 200


DEFAULT_SIZES: Final = ReportSizes()


@dataclass(slots=True)
class SizeLimit:
    """Bytes that are left for one part of a report, and how many pieces did not fit."""

    left: int
    left_out: int = 0

    def takes(self, piece: Html) -> bool:
        """Whether a piece fits, which is then counted."""
        size = size_of(piece)
        if size > self.left:
            self.left_out += 1
            return False
        self.left -= size
        return True
