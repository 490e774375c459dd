"""Requests and results as JSON: what is sent comes back equal, what is wrong is refused with its place."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import UTC, datetime, timedelta, timezone
from typing import Annotated, Any, Literal, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Meta, Struct, field
from msgspec.structs import fields

from runtime.operations.handler_table import HANDLERS
from runtime.operations.requests.answers import AnswerIncident
from runtime.operations.requests.codec import (
    InvalidField,
    decode_request,
    decode_result,
    decode_struct,
    encode,
    result_type,
)
from runtime.operations.requests.permissions import ListGrants, RevokeGrant
from runtime.operations.requests.reports import ListAudit, NoteLook, ReadEvents, ReadLog, ShowStatus, StopRuntime
from runtime.operations.requests.runs import AbortRun, ListRuns, RewindRun, RunState, SetBreakpoint
from runtime.operations.requests.struct import Instant, JsonObject, Request

KINDS: list[type[Request[Any]]] = [*HANDLERS, ShowStatus, StopRuntime]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
TIMES = st.datetimes(timezones=st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))]))


class Inner(Struct, frozen=True):
    name: str
    at: Instant | None = None


class Everything(Struct, frozen=True):
    """A field of each type that a request or a result may have."""

    text: str
    number: int
    share: float
    flag: bool
    word: Literal["one", "two"]
    short: Annotated[str, Meta(min_length=1, max_length=5)]
    at: Instant
    inner: Inner
    many: tuple[Inner, ...] = ()
    counts: JsonObject = field(default_factory=dict)
    foreign: Any = None


INNER = st.builds(lambda name, at: Inner(name=name, at=at), st.text(), st.none() | TIMES)
EVERYTHING: st.SearchStrategy[Everything] = st.builds(
    Everything,
    text=st.text(),
    number=st.integers(),
    share=st.floats(allow_nan=False),
    flag=st.booleans(),
    word=st.sampled_from(["one", "two"]),
    short=st.text(min_size=1, max_size=5),
    at=TIMES,
    inner=INNER,
    many=st.lists(INNER, max_size=3).map(tuple),
    counts=st.dictionaries(st.text(), JSON, max_size=3),
    foreign=JSON,
)


@given(EVERYTHING)
def test_what_is_encoded_is_decoded_to_the_same(value: Everything) -> None:
    assert decode_struct(Everything, json.loads(json.dumps(encode(value)))) == value


@given(st.sampled_from(KINDS), st.dictionaries(st.text() | st.sampled_from(["run_id", "limit", "since"]), JSON))
def test_whatever_comes_is_a_request_or_is_refused_in_words(kind: type[Request[Any]], sent: dict[str, Any]) -> None:
    names = kind.__struct_fields__
    for each in (sent, dict.fromkeys(names, sent), {**dict.fromkeys(names, ""), **sent}):
        with suppress(InvalidField):
            found = decode_request(kind, each)
            assert decode_request(kind, encode(found)) == found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_each_request_says_what_it_does_and_has_types_that_can_be_read(kind: type[Request[Any]]) -> None:
    assert kind.__doc__
    assert kind.verb
    with pytest.raises(InvalidField, match="Expected `object`, got `int`; it takes "):
        decode_request(kind, 5)
    needed = [each.name for each in fields(kind) if each.required]
    right = {**dict.fromkeys(needed, "x"), **({"what": "tool"} if kind is SetBreakpoint else {})}
    with pytest.raises(InvalidField, match="unknown field `no such field`; it takes "):
        decode_request(kind, {**right, "no such field": 1})
    decode_request(kind, right)
    for name in kind.__struct_fields__:  # a list is not one of the simple types, and an object is not a list
        wrong: Any = [[]] if name not in {"only", "looked_at", "states"} else {}
        with pytest.raises(InvalidField, match=rf"^{name}: "):
            decode_request(kind, {**right, name: wrong})
    if isinstance(result_type(kind), type) and issubclass(result_type(kind), Struct):
        with pytest.raises(InvalidField):
            decode_struct(result_type(kind), [])


@pytest.mark.parametrize("kind", HANDLERS, ids=lambda kind: kind.__name__)
def test_a_handler_takes_its_request_and_gives_its_result(kind: type[Request[Any]]) -> None:
    hints = get_type_hints(HANDLERS[kind])
    assert kind in hints.values()
    assert hints["return"] == result_type(kind)


def test_no_two_requests_have_one_verb() -> None:
    verbs = [str(kind.verb) for kind in KINDS]
    assert len({*verbs}) == len(verbs)


def test_only_what_is_not_as_by_default_is_sent() -> None:
    assert encode(ReadLog(limit=7)) == {"limit": 7}
    assert encode(RevokeGrant(grant_id="g-1")) == {"grant_id": "g-1"}
    asked = ListAudit(since=datetime(2026, 11, 20, 10, tzinfo=UTC))
    assert encode(asked) == {"since": "2026-11-20T10:00:00Z"}
    assert decode_request(ListAudit, encode(asked)) == asked


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        (AbortRun, {}, "run_id: is missing"),
        (AbortRun, {"run_id": ""}, "run_id: Expected `str` of length >= 1"),
        (AbortRun, {"run_id": "r", "force": True}, "Object contains unknown field `force`; it takes run_id, reason"),
        (AbortRun, {"run_id": ["r"]}, "run_id: Expected `str`, got `array`"),
        (AbortRun, ["r"], "Expected `object`, got `array`"),
        (ListRuns, {"limit": 0}, "limit: Expected `int` >= 1"),
        (ListRuns, {"limit": 10**5000}, "limit: "),
        (ListRuns, {"limit": True}, "limit: Expected `int`, got `bool`"),
        (ListRuns, {"states": ["sleeping"]}, "states: Invalid enum value 'sleeping'; it takes queued, running, "),
        (ListRuns, {"states": "frozen"}, "states: Expected `array`, got `str`"),
        (ListRuns, {"states": ["frozen", 1]}, "states: Expected `str`, got `int`"),
        (RewindRun, {"run_id": "r", "node_id": "n", "confirm": "yes"}, "confirm: Expected `bool`, got `str`"),
        (RewindRun, {"run_id": "r", "node_id": "n", "changes": []}, "changes: Expected `object`, got `array`"),
        (SetBreakpoint, {"run_id": "r", "what": "ai", "pattern": "*"}, "what: Invalid enum value 'ai'; it takes"),
        (ListAudit, {"since": "2026-11-20"}, "since: Invalid RFC3339 encoded datetime"),
        (ListAudit, {"since": "2026-11-20T10:00:00"}, "since: Expected `datetime` with a timezone component"),
        (AnswerIncident, {"incident_id": "i", "option": "x", "reach": "far"}, "reach: Invalid enum value 'far'; it "),
        (AnswerIncident, {"incident_id": "i" * 900, "option": 1}, "option: Expected `str`, got `int`"),
    ],
)  # fmt: skip
def test_a_field_that_is_wrong_is_named_with_what_would_be_right(
    kind: type[Request[Any]], fields: Any, words: str
) -> None:
    with pytest.raises(InvalidField) as caught:
        decode_request(kind, fields)
    assert str(caught.value).startswith(words)


def test_a_result_of_a_later_version_is_read_and_one_of_an_earlier_is_refused() -> None:
    request = AbortRun(run_id="r")
    assert decode_result(request, {"id": "r", "state": "aborted", "new": [1]}) == RunState(id="r", state="aborted")
    with pytest.raises(InvalidField, match="id: is missing"):
        decode_result(request, {"run_id": "r"})
    with pytest.raises(InvalidField, match=r"id: is missing|id is missing"):
        decode_result(ListGrants(), [{"grant": {}}])
    assert decode_result(NoteLook(), None) is None


def test_an_event_is_read_by_name_and_keeps_what_a_later_program_put_into_it() -> None:
    told = {"new": [1], "type": "step.ended", "seq": 4, "ts": "2026-11-20T10:00:00Z", "run_id": "r", "node_id": "a~0"}
    (event,) = decode_result(ReadEvents(run_id="r"), [told])
    (row,) = decode_result(ReadLog(run_id="r"), [{"at": 9, "event": told}])
    assert row.event == event
    assert (event.type, event.seq, event.run_id, event.node_id, event.ts) == (
        "step.ended", 4, "r", "a~0", "2026-11-20T10:00:00Z",
    )  # fmt: skip
    assert json.dumps(encode([event])) == json.dumps([told]), "the same JSON, in the same order"
    assert json.dumps(encode(row)) == json.dumps({"at": 9, "event": told})


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"seq": "4"}, "seq: Expected `int`, got `str`"),
        ({"seq": 4, "node_id": None}, "node_id: Expected `str`, got `null`"),
    ],
)
def test_an_event_with_a_field_of_another_type_is_refused(told: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidField, match=words):
        decode_result(ReadEvents(run_id="r"), [told])
    with pytest.raises(InvalidField, match=words):
        decode_result(ReadLog(), [{"at": 1, "event": told}])
    with pytest.raises(InvalidField, match="event"):
        decode_result(ReadLog(), [{"at": 1, "event": "started"}])
