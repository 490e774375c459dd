"""JSON without numbers that it does not have."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.parsing.strict_json import load_json

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(VALUES)
def test_what_is_json_is_read_as_ever(value: object) -> None:
    text = json.dumps(value)
    assert load_json(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("NaN", "NaN is not a number in JSON"),
        ('{"a": [Infinity]}', "Infinity is not a number in JSON"),
        ("-Infinity", "-Infinity is not a number in JSON"),
        ("1e999", "the number 1e999 is too large"),
        ('{"n": -2.5E+400}', r"the number -2\.5E\+400 is too large"),
        ("nan", "Expecting value"),
        ("{} {}", "Extra data"),
    ],
)
def test_what_is_not_is_said(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        load_json(text)


def test_small_numbers_stay() -> None:
    assert load_json("[1e-999, 1e308, -0.0]") == [0.0, 1e308, 0.0]
    assert math.copysign(1, load_json("-0.0")) == -1
