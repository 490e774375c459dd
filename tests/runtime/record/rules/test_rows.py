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

from orbiter.types import Usage
from runtime.record.journal import Unrecordable
from runtime.record.rules.rows import decode_event, encode_event
from runtime.record.state import events as ev
from runtime.record.state.incident_events import Option

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


class _Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (_Text("said"), "said"),
        ({(1, 2): 3, None: 4, True: 5}, {"1,2": 3, "None": 4, "true": 5}),
        ({1: "one", 1.5: "more"}, {"1": "one", "1.5": "more"}),
        (Option(id="retry", label="Retry"), {"id": "retry", "label": "Retry"}),
        (({"of": (Option(id="x", label="y"),), (1,): 2},), [{"of": [{"id": "x", "label": "y"}], "1": 2}]),
        (Usage(), {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}),
        (float("nan"), None),
        (10**40, 10**40),
        ({"half \ud83d": "\udc00"}, {"half �": "�"}),
        ({3, 4}, [3, 4]),
    ],
)  # fmt: skip
def test_values_of_user_code_are_written_as_json_and_read_back(given: Any, written: Any) -> None:
    row = encode_event(ev.StepEnded(node_id="n", attempt=1, result={"value": given}))
    read = decode_event("r", 1, row.body, row.blobs, row.values)
    assert isinstance(read, ev.StepEnded)
    assert read.result == {"value": written}


@pytest.mark.parametrize("given", [object(), {"a": range(3)}, {object(): 1}])
def test_what_json_cannot_say_is_refused_and_named(given: Any) -> None:
    with pytest.raises(Unrecordable, match=r"step\.ended of node 'n' cannot be written as JSON: .*"):
        encode_event(ev.StepEnded(node_id="n", attempt=1, result={"value": given}))


@pytest.mark.parametrize(
    "event",
    [
        ev.StepStarted(kind="tool", name=3, agent="a", attempt=1, epoch=1),  # type: ignore[arg-type]
        ev.NodeOpened(kind="agent", name=None),  # type: ignore[arg-type]
        ev.RunCreated(ref="r", input={"not": "a text"}),  # type: ignore[arg-type]
        ev.StepEnded(attempt=1, seconds="long"),  # type: ignore[arg-type]
        ev.StepStarted(kind="dance", name="t", agent="a", attempt=1, epoch=1),  # type: ignore[arg-type]
    ],
)
def test_a_field_of_another_type_is_refused_where_it_is_written(event: ev.JournalEvent) -> None:
    """One event that cannot be read back would keep every reader of its workspace from its list."""
    with pytest.raises(Unrecordable, match=r"of node 'n' cannot be written as JSON: .* at `\$\.\w+`"):
        encode_event(replace(event, node_id="n"))


DEEP = "[" * 500_000 + "]" * 500_000


@pytest.mark.parametrize(
    "body",
    [  # nested beyond what any interpreter reads: 3.11 stops at 1,000 levels, 3.13 at 10,000
        "nope", "[1]", "{}", '{"type":5}', '{"type":"step.ended"}', '{"type":"step.ended","type":"run.created"}',
        '{"type":"run.started","epoch":1,"ts":"2026-01-01T00:00:00"}', '{"type":"run.started","epoch":"1"}',
        f'{{"type":"step.ended","attempt":1,"result":{DEEP}}}', '{"type":"step.ended","x":"\udc00"}',
        '{"type":"node.danced","x":' + DEEP + "}",
    ],
)  # fmt: skip
def test_a_row_that_is_no_event_is_refused_and_named(body: str) -> None:
    with pytest.raises(Unrecordable, match="event 7 of run r cannot be read"):
        decode_event("r", 7, body)


def test_an_event_of_a_newer_program_keeps_all_its_fields() -> None:
    body = '{"v":9,"type":"run.danced","node_id":"a~0","ts":"2026-01-01T00:00:00Z","others":{"a":1},"steps":[1,2]}'
    event = decode_event("r", 7, body)
    assert isinstance(event, ev.UnknownEvent)
    assert (event.type, event.v, event.seq, event.run_id, event.node_id) == ("run.danced", 9, 7, "r", "a~0")
    assert event.others == {"others": {"a": 1}, "steps": [1, 2]}
    assert json.loads(encode_event(event).body) == json.loads(body)
    assert ev.event_fields(event) == {**json.loads(body), "seq": 7, "run_id": "r", "parent_id": ""}
    assert ev.load_event(ev.dump_event(event)) == event
