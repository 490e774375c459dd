"""Events as rows of a journal, and back.

A row's body is the event's JSON without what columns hold (`run_id`, `seq`) and without defaults. Values longer than
`events.BLOB_BYTES` stand in a table of their own under their digest, once however often they occur.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType

import msgspec
from msgspec.structs import replace

from runtime.record.journal import Unrecordable
from runtime.record.state import events as ev
from runtime.record.state.summary import Summary

MAX_EVENT_BYTES = 500_000_000
"""Of one event's JSON, in bytes: half of the smallest limit of a store for a whole row (SQLite: a billion)."""


class EventRow(msgspec.Struct, frozen=True):
    """An event on its way into the journal. `blobs` maps fields to digests (JSON), `values` digests to JSON texts."""

    event: ev.JournalEvent
    body: str
    blobs: str | None = None
    values: Mapping[str, str] = MappingProxyType({})


def encode_event(event: ev.JournalEvent) -> EventRow:
    """The row of an event. Lone surrogates are replaced.

    Raises:
        Unrecordable: it holds what JSON cannot, a field has a value of another type than it is read back with, it is
            nested so deeply that it could not be read back, or it is far too long. The message names the event.
    """
    bare = event
    if event.seq or event.run_id or event.v != ev.EVENT_VERSION:
        bare = replace(event, seq=0, run_id="", v=ev.EVENT_VERSION)
    try:
        body = ev.dump_event(bare)
        if len(body) > MAX_EVENT_BYTES:
            raise ValueError(f"{len(body):,} characters")
        ev.check_line(event, body)
    except (TypeError, RecursionError, ValueError, ev.InvalidEvent) as exc:
        raise Unrecordable(f"{event.type} of node {event.node_id!r} cannot be written as JSON: {exc}") from exc
    if event.v != 1:  # not where it is the default: defaults rise
        body = f'{{"v":{event.v},{body[1:]}'
    if len(body) > ev.BLOB_BYTES // 4:  # at most four bytes for a character
        return _with_blobs(event, body)
    return EventRow(event, body)


def _with_blobs(event: ev.JournalEvent, body: str) -> EventRow:
    small: list[str] = []
    names: dict[str, str] = {}
    values: dict[str, str] = {}
    for name, value in json.loads(body).items():
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        raw = text.encode()
        if len(raw) > ev.BLOB_BYTES:
            names[name] = hashlib.sha256(raw).hexdigest()
            values[names[name]] = text
        else:
            small.append(f"{json.dumps(name)}:{text}")
    if not names:
        return EventRow(event, body)
    return EventRow(event, f"{{{','.join(small)}}}", json.dumps(names), values)


def encode_summary(summary: Summary) -> str:
    """The stored text of a summary. Raises `Unrecordable` naming the run, if JSON cannot say it."""
    try:
        return summary.to_json()
    except (TypeError, ValueError, RecursionError) as exc:
        raise Unrecordable(f"the summary of run {summary.id} cannot be written as JSON: {exc}") from exc


def decode_event(
    run_id: str, seq: int, body: str, blobs: str | None = None, values: Mapping[str, str] | None = None
) -> ev.JournalEvent:
    """The event of a row. `values` holds the blobs that it names.

    Raises:
        Unrecordable: the row is not an event, or a blob of it is missing.
    """
    versioned = body.startswith('{"v":')
    if blobs is not None:
        for name, digest in json.loads(blobs).items():
            if values is None or digest not in values:
                raise Unrecordable(
                    f"event {seq} of run {run_id}: its value {name!r} ({digest[:12]}…) is missing from the journal"
                )
            body = f"{body[:-1]},{json.dumps(name)}:{values[digest]}}}"
    try:
        event = ev.load_event(body)
    except ev.InvalidEvent as exc:
        raise Unrecordable(f"event {seq} of run {run_id} cannot be read: {exc}") from exc
    if versioned or ev.EVENT_VERSION == 1:
        return event.placed(run_id, seq)
    return replace(event, run_id=run_id, seq=seq, v=1)
