"""Replies that stream on one machine and are watched on another: the port. For display only, and may lose anything.

A console's server says which runs are watched; the worker that drives one of them puts down the pieces of its replies;
the server reads them. What is recorded of a step, at its end, is the truth.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec

WISH_S = 10.0
"""For how many seconds a run counts as watched after a server last said so."""
_TOKEN = uuid.uuid4().hex


def process_name() -> str:
    """A name of this process that no other has."""
    return f"{os.getpid()}-{_TOKEN}"


class ReplyPiece(msgspec.Struct, frozen=True, array_like=True):
    """A piece of a reply, from character `offset` of attempt `attempt` of a step on."""

    run_id: str
    node_id: str
    attempt: int
    kind: str
    offset: int
    text: str


class LiveReplies(Protocol):
    """All methods raise `JournalError` when the store fails."""

    async def watch(self, run_ids: Collection[str]) -> None:
        """Say that these runs are watched through this process, for `WISH_S`."""
        ...

    async def watched(self) -> frozenset[str]:
        """Ids of runs that are watched through other processes."""
        ...

    async def publish(self, pieces: Sequence[ReplyPiece]) -> None:
        """Put pieces down. They are there for some seconds."""
        ...

    async def read(self) -> list[ReplyPiece]:
        """Pieces that other processes have put down since the last call, those of one reply in their order."""
        ...

    async def close(self) -> None:
        """Let go of the store. May be called twice."""
        ...
