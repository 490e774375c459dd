"""Replies that are being streamed: the text so far of each, for consoles that come later, and its pieces as they come.

Pieces come from the driving thread, in order (`runtime.execution.execution_config.DeltaSink`). They are for display
only: what the journal records of a step is the truth, and once a step has ended its text here is forgotten.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from runtime.link.server.outbox import ClientOutbox
from runtime.link.wire.protocol import DeltaKind
from runtime.record.live_replies import ReplyPiece

MAX_TEXT_CHARS = 256 * 1024
"""Characters kept of one reply; more are not shown while it streams."""


class TextPiece(NamedTuple):
    """A piece of a reply, from character `offset` of attempt `attempt` on."""

    run_id: str
    node_id: str
    attempt: int
    kind: DeltaKind
    text: str
    offset: int = 0


@dataclass(slots=True)
class _Text:
    attempt: int
    text: str = ""


class ReplyStreams:
    """Texts so far by run, node and kind."""

    def __init__(self) -> None:
        self._tell: Callable[[TextPiece], None] | None = None
        self._texts: dict[str, dict[tuple[str, DeltaKind], _Text]] = {}
        self._lock = threading.Lock()
        self._waiting: list[TextPiece] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self.eyes = 0
        """Consoles that are connected."""

    def bind(self, loop: asyncio.AbstractEventLoop, tell: Callable[[TextPiece], None]) -> None:
        """Hand pieces on to `tell`, in this loop, from now on."""
        with self._lock:
            self._loop, self._tell = loop, tell

    def close(self) -> None:
        with self._lock:
            self._loop = None
            self._waiting.clear()

    def wants(self, run_id: str) -> bool:
        """Whether anybody may want to see replies while they come. Thread-safe."""
        return self.eyes > 0

    def put(self, run_id: str, node_id: str, attempt: int, kind: str, text: str) -> None:
        """The next piece of a reply. Thread-safe, never blocks, quiet after `close`."""
        with self._lock:
            if self._loop is None:
                return
            self._waiting.append(TextPiece(run_id, node_id, attempt, _kind(kind), text))
            if len(self._waiting) == 1:
                self._loop.call_soon_threadsafe(self._drain)

    def add_remote(self, piece: ReplyPiece) -> None:
        """A piece of a reply that streams on another machine. For the loop's own thread. What comes after a gap is
        left out.
        """
        found = self._texts.get(piece.run_id, {}).get((piece.node_id, _kind(piece.kind)))
        have = len(found.text) if found is not None and found.attempt == piece.attempt else 0
        if piece.offset == have:
            self._handle_piece(TextPiece(piece.run_id, piece.node_id, piece.attempt, _kind(piece.kind), piece.text))

    def repeat(self, run_id: str, outbox: ClientOutbox) -> None:
        """Send the texts so far of a run."""
        for (node_id, kind), found in self._texts.get(run_id, {}).items():
            outbox.delta((run_id, node_id, found.attempt, kind), 0, found.text)

    def end(self, run_id: str, node_id: str) -> None:
        """A step ended."""
        texts = self._texts.get(run_id, {})
        for key in [key for key in texts if key[0] == node_id]:
            del texts[key]

    def end_run(self, run_id: str) -> None:
        self._texts.pop(run_id, None)

    def _drain(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for piece in waiting:
            self._handle_piece(piece)

    def _handle_piece(self, piece: TextPiece) -> None:
        texts = self._texts.setdefault(piece.run_id, {})
        found = texts.get((piece.node_id, piece.kind))
        if found is None or found.attempt < piece.attempt:
            found = texts[piece.node_id, piece.kind] = _Text(piece.attempt)
        offset = len(found.text)
        if found.attempt == piece.attempt and piece.text and offset + len(piece.text) <= MAX_TEXT_CHARS:
            found.text += piece.text
            assert self._tell is not None
            self._tell(piece._replace(offset=offset))


def _kind(kind: str) -> DeltaKind:
    return "reasoning" if kind == "reasoning" else "text"
