from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.models.model_errors import CallContext, read_error_body

OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
QUOTA = {"error": {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED"}}
ROUTED = {"error": {"message": "Provider returned error", "code": 502, "metadata": {"raw": "upstream died"}}}
MISTRAL = {"object": "error", "message": "No capacity", "type": "invalid_request_error", "code": "3505"}
SPENT = {"error": {"message": "x", "type": "rate_limit_error", "details": {"error_code": "spend"}}}


@pytest.mark.parametrize(
    ("body", "message", "kind", "code"),
    [
        ({"error": {"message": "No", "type": "t", "param": None, "code": "c"}}, "No", "t", "c"),
        (OVERLOADED, "Overloaded", "overloaded_error", ""),
        ([QUOTA], "Quota", "RESOURCE_EXHAUSTED", "429"),
        (ROUTED, "Provider returned error: upstream died", "", "502"),
        ({"error": {"message": "P", "code": 502, "metadata": {"raw": {"a": 1}}}}, 'P: {"a": 1}', "", "502"),
        ({"error": "model 'llama3' not found"}, "model 'llama3' not found", "", ""),
        (MISTRAL, "No capacity", "invalid_request_error", "3505"),
        ({"message": "Not here", "request_id": "r"}, "Not here", "", ""),
        ({"detail": "Unauthorized"}, "Unauthorized", "", ""),
        ({"detail": [{"loc": ["body"], "msg": "bad"}]}, '[{"loc": ["body"], "msg": "bad"}]', "", ""),
        (SPENT, "x", "rate_limit_error", "spend"),
        ({}, "", "", ""),
        ([], "", "", ""),
        (None, "", "", ""),
        ("just text", "just text", "", ""),
    ],
)
def test_every_shape_of_an_error_body(body: Any, message: str, kind: str, code: str) -> None:
    said = read_error_body(json.dumps(body))
    assert (said.message, said.type, said.code) == (message, kind, code)


def test_plain_text_is_the_message_and_a_page_is_not() -> None:
    assert read_error_body("upstream connect error\n or disconnect").message == "upstream connect error or disconnect"
    assert read_error_body("<html><body>x</body></html>").message == ""


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "message", "type", "code", "status", "metadata", "raw", "detail", "details"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=15,
)


@given(_JSON, st.integers(100, 599))
def test_any_json_makes_an_error_that_says_something(body: Any, status: int) -> None:
    error = CallContext("p", "m").http_error(status, {}, json.dumps(body))
    assert error.status == status
    assert len(str(error)) > len("[m] ")


@given(st.text(), st.dictionaries(st.sampled_from(["retry-after", "retry-after-ms", "date"]), st.text(max_size=30)))
def test_any_body_and_any_hint_make_an_error(body: str, headers: dict[str, str]) -> None:
    error = CallContext("p", "m").http_error(500, headers, body)
    assert error.retry_after is None or error.retry_after >= 0


def test_a_numeric_code_that_repeats_the_status_is_no_code() -> None:
    body = json.dumps({"error": {"message": "Nope", "code": 402}})
    assert CallContext("openrouter", "m").http_error(402, {}, body).code == ""


def test_an_unknown_status_has_words() -> None:
    assert str(CallContext("p", "m").http_error(599, {}, "")) == "[m] HTTP status 599"
