"""Rows are written by a short way and read by the general one: what comes back is what was written, of every kind."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from enum import Enum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields, replace

from runtime.record.rules.rows import decode_event, encode_event
from runtime.record.state import events as ev

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(-1e9, 1e9) | TEXT
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))
PLAIN: dict[Any, st.SearchStrategy[Any]] = {
    Any: VALUES,
    str: TEXT,
    int: st.integers(0, 2**31),
    float: st.floats(0, 1e9),
    bool: st.booleans(),
    type(None): st.none(),
    datetime: st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    timedelta: st.timedeltas(timedelta(0), timedelta(days=9)),
}


def _of(annotation: Any) -> st.SearchStrategy[Any]:
    """Values of a field, by its annotation."""
    origin, args = get_origin(annotation), get_args(annotation)
    if annotation in PLAIN:
        return PLAIN[annotation]
    if origin is Annotated:
        return _of(args[0])
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, UnionType):
        return st.one_of(*map(_of, args))
    if origin is tuple:
        return st.lists(_of(args[0]), max_size=2).map(tuple) if args[-1] is ... else st.tuples(*map(_of, args))
    if origin in (list, frozenset, set):
        return st.lists(_of(args[0]), max_size=2).map(origin)
    if origin is not None and isinstance(origin, type) and issubclass(origin, dict):
        return st.dictionaries(_of(args[0]), _of(args[1]), max_size=2)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    assert isinstance(annotation, type)
    assert issubclass(annotation, Struct), f"nothing is known of {annotation}"
    return _struct(annotation)


def _struct(kind: type[Struct], *but: str) -> st.SearchStrategy[Any]:
    given = {field.name: _of(field.type) for field in fields(kind) if field.name not in but}
    needed = {field.name: given.pop(field.name) for field in fields(kind) if field.required}
    return st.fixed_dictionaries(needed, optional=given).map(lambda said: kind(**said))


@pytest.mark.parametrize("kind", ev.EVENT_CLASSES, ids=lambda kind: kind.__name__)
def test_an_event_of_any_kind_is_read_as_it_was_written(kind: type[ev.JournalEvent]) -> None:
    @given(_struct(kind, "v", "seq", "run_id"))
    @settings(max_examples=8, suppress_health_check=[HealthCheck.too_slow])
    def written_and_read(event: ev.JournalEvent) -> None:
        placed = replace(event, seq=7, run_id="r")
        short, general = encode_event(event), encode_event(placed)
        assert json.loads(short.body) == json.loads(general.body)
        for draft in (short, general):
            assert decode_event("r", 7, draft.body, draft.blobs, draft.values) == placed

    written_and_read()
