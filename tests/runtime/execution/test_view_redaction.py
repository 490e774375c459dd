"""What viewers are shown: ids, words and numbers of ours stay, what is foreign is masked, and edits are restored."""

from __future__ import annotations

import dataclasses
import inspect
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import fields

from orbiter.redaction import REDACTED
from runtime.execution import view_redaction
from runtime.execution.view_redaction import MaskNotReplaced, ViewRedactor
from runtime.record.state import durable_run, events

KEY = "sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 2
MASKED = ViewRedactor(masked=True)
OURS = {
    "options",
    "others",
    "nodes",
    "incidents",
    "granted",
    "injected",
    "let_go",
    "owners",
    "delivered",
    "busy",
    "callers",
    "early",
}
"""Objects of events and states with members of ours."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20) | st.sampled_from([KEY, f"x {KEY}", REDACTED]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=8) | st.sampled_from([KEY, "api_key", "7", "state"]), inner, max_size=3)
    ),
    max_leaves=8,
)


def _objects() -> set[str]:
    """The fields of events and states that hold objects of any form."""
    found = set()
    for each in (*vars(events).values(), *vars(durable_run).values()):
        if not inspect.isclass(each) or not each.__module__.startswith("runtime."):
            continue
        if issubclass(each, Struct):
            found |= {field.name for field in fields(each) if _is_object(str(field.type))}
        elif dataclasses.is_dataclass(each):
            found |= {field.name for field in dataclasses.fields(each) if _is_object(str(field.type))}
    return found


def _is_object(annotation: str) -> bool:
    return "Any" in annotation or "dict[" in annotation


def test_every_field_that_holds_foreign_objects_is_known_to_be_foreign() -> None:
    assert _objects() - OURS <= view_redaction.FOREIGN_FIELDS


@given(JSON)
def test_what_comes_back_as_it_was_shown_is_the_original(value: Any) -> None:
    shown = json.loads(json.dumps(MASKED.mask_value(value)))
    assert KEY not in json.dumps(shown)
    assert MASKED.restore(shown, value) == value


@given(st.dictionaries(st.text(max_size=8), JSON, max_size=4), st.text(max_size=20), st.text(max_size=20))
def test_a_mask_is_never_sent_on(value: dict[str, Any], before: str, after: str) -> None:
    """A mark among other words is not one of the values that were shown: it is refused wherever it stands."""
    edited = {**MASKED.mask_value(value), "edited": f"{before}{REDACTED}{after}."}
    try:
        assert MASKED.restore(edited, value) == {**value, "edited": value["edited"]}
    except MaskNotReplaced:
        assert "edited" not in value or MASKED.mask_value(value)["edited"] != edited["edited"]
    except KeyError:
        raise AssertionError("a mask was taken as a value") from None


@given(st.integers(0, 10**9), st.sampled_from(["running", "waiting"]))
def test_numbers_states_and_names_of_ours_stay(tokens: int, name: str) -> None:
    nodes = {"secrets": {"state": name, "started": "2026-01-01T10:00:00Z", "attempt": tokens}}
    message = {"t": "run", "position": tokens, "head": {"id": "run-1", "input_tokens": tokens}, "nodes": nodes}
    assert MASKED.mask_message(message) == message


def test_what_is_foreign_is_masked_whatever_its_members_are_called() -> None:
    for name in view_redaction.FOREIGN_FIELDS:
        assert KEY not in json.dumps(MASKED.mask_message({name: {"id": KEY, "state": [KEY], KEY: 1}})), name
