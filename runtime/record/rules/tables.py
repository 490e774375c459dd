"""The tables that every store keeps, with the columns that mean the same in each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "run": (
        "rid", "id", "state", "epoch", "owner", "lease_until", "lease_ttl", "wake_at", "last_seq", "told_seq",
        "summary", "updated_at", "code", "queue",
    ),
    "event": ("pos", "run", "seq", "body", "blobs"),
    "blob": ("digest", "value"),
    "incident": ("iid", "id", "run", "state", "revision", "opened_seq", "answer_seq", "closed_seq"),
    "command": ("id", "reply", "at"),
}  # fmt: skip


class TableRows(NamedTuple):
    """Some rows of a table, in the order of its columns. The table ``head`` has one row: the newest position."""

    table: str
    rows: list[tuple[Any, ...]]
