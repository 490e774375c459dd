"""Events as rows of a journal, and back.

A row's body is the event's JSON without what columns hold (`run_id`, `seq`) and without defaults. Values longer than
`events.BLOB_BYTES` stand in a table of their own under their digest, once however often they occur.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import NamedTuple

from pydantic_core import PydanticSerializationError, ValidationError, from_json

from orbiter.text_encoding import dump_json
from runtime.record.journal import Unrecordable
from runtime.record.state import events as ev

_KIND = re.compile(r'\{(?:"v":\d{1,9},)?"type":"([a-z_.]{1,100})"')
"""How the body of a row begins."""
_IN_COLUMNS = {"v", "seq", "run_id", "type"}
_MAX_NESTING = 128
"""Only a text with more brackets than this can be nested too deeply."""
_RESERVED_LEVELS = 20
"""Levels that are left for what an event is put into: its line in an export, a snapshot on the link."""
MAX_EVENT_BYTES = 500_000_000
"""Of one event's JSON, in bytes: half of the smallest limit of a store for a whole row (SQLite: a billion)."""


class EventRow(NamedTuple):
    """An event on its way into the journal. `blobs` maps fields to digests (JSON), `values` digests to JSON texts."""

    event: ev.JournalEvent
    body: str
    blobs: str | None = None
    values: Mapping[str, str] = MappingProxyType({})


def encode_event(event: ev.JournalEvent) -> EventRow:
    """Raises `Unrecordable` naming the event, if it holds what JSON cannot, is nested so deeply that it could not be
    read it back, or is far too long. Lone surrogates are replaced.
    """
    kind: str = getattr(event, "type", "")
    # On a fresh event all that columns hold stands at its default; to leave it out by name costs a third more.
    fresh = event.seq == 0 and not event.run_id and event.v == ev.EVENT_VERSION and type(event) is not ev.UnknownEvent
    try:
        body = dump_json(event, exclude_defaults=True, by_alias=True, exclude=None if fresh else _IN_COLUMNS)
        if body.count("{") + body.count("[") > _MAX_NESTING:
            # What can be written can be nested deeper than what can be read (pydantic: 255 levels and 200).
            from_json(f"{'[' * _RESERVED_LEVELS}{body}{']' * _RESERVED_LEVELS}", cache_strings=False)
        if len(body) > MAX_EVENT_BYTES:
            raise ValueError(f"{len(body):,} characters")
    except (PydanticSerializationError, RecursionError, ValueError) as exc:
        raise Unrecordable(f"{kind} of node {event.node_id!r} cannot be written as JSON: {exc}") from exc
    head = _head(event.v, kind)
    if len(body) > ev.BLOB_BYTES // 4:  # at most four bytes for a character
        return _with_blobs(event, head, body)
    return EventRow(event, _object(head, body))


@cache
def _head(v: int, kind: str) -> str:
    """The version is left out where it is 1, not where it is the default: defaults rise."""
    return f'"type":{json.dumps(kind)}' if v == 1 else f'"v":{v},"type":{json.dumps(kind)}'


def _object(head: str, body: str) -> str:
    return f"{{{head},{body[1:]}" if len(body) > 2 else f"{{{head}}}"


def _with_blobs(event: ev.JournalEvent, head: str, body: str) -> EventRow:
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
        return EventRow(event, _object(head, body))
    return EventRow(event, _object(head, f"{{{','.join(small)}}}"), json.dumps(names), values)


def decode_event(
    run_id: str, seq: int, body: str, blobs: str | None = None, values: Mapping[str, str] | None = None
) -> ev.JournalEvent:
    """The event of a row. `values` holds the blobs that it names.

    Raises:
        Unrecordable: the row is not an event, or a blob of it is missing.
    """
    head = f'{{"run_id":{json.dumps(run_id)},"seq":{seq},'
    if not body.startswith('{"v":'):
        head += '"v":1,'
    if blobs is not None:
        for name, digest in json.loads(blobs).items():
            if values is None or digest not in values:
                raise Unrecordable(
                    f"event {seq} of run {run_id}: its value {name!r} ({digest[:12]}…) is missing from the journal"
                )
            head += f"{json.dumps(name)}:{values[digest]},"
    try:
        kind = _KIND.match(body)
        return ev.load_event(head + body[1:], kind[1] if kind is not None else None)
    except ValidationError as exc:
        raise Unrecordable(f"event {seq} of run {run_id} cannot be read: {exc}") from exc
