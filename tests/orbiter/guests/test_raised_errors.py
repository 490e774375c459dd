"""Exceptions that are recorded and raised again: code that deals with them reads in them what it read at first."""

from __future__ import annotations

import json
from dataclasses import asdict

import httpx
from pydantic_ai.exceptions import FallbackExceptionGroup, ModelHTTPError, ModelRateLimitError

from orbiter.guests.raised_errors import RaisedError


def recalled(error: Exception) -> Exception:
    """As another process has it."""
    return RaisedError(**json.loads(json.dumps(asdict(RaisedError.of(error))))).restore()


def limited() -> ModelHTTPError:
    return ModelHTTPError.for_category(
        ModelRateLimitError, status_code=429, model_name="m", body={"code": "slow"}, headers={"Retry-After": "7"}
    )


def test_an_error_whose_class_has_the_name_of_another_one_keeps_its_class() -> None:
    error, found = limited(), recalled(limited())
    assert type(found) is type(error)
    assert isinstance(found, ModelHTTPError)
    assert (found.status_code, found.body, found.retry_after) == (429, {"code": "slow"}, 7.0)


def test_a_reply_of_http_comes_back_without_keys() -> None:
    request = httpx.Request("POST", "http://m.example/v1", headers={"authorization": "Bearer key"})
    headers = {"retry-after": "7", "set-cookie": "key"}
    response = httpx.Response(503, json={"busy": True}, headers=headers, request=request)
    error = httpx.HTTPStatusError("busy", request=request, response=response)
    assert "key" not in json.dumps(asdict(RaisedError.of(error)))
    found = recalled(error)
    assert isinstance(found, httpx.HTTPStatusError)
    assert (found.response.status_code, found.response.json()) == (503, {"busy": True})
    assert found.response.headers["Retry-After"] == "7"
    assert str(found.request.url) == "http://m.example/v1"


def test_a_reply_that_was_not_read_has_no_body() -> None:
    error = RuntimeError("cut off")
    error.response = httpx.Response(502, stream=httpx.ByteStream(b"x"))  # type: ignore[attr-defined]
    found = recalled(error)
    assert found.response.status_code == 502  # type: ignore[attr-defined]


def test_a_group_and_a_cause_come_back() -> None:
    error = FallbackExceptionGroup("none answered", [limited(), ConnectionError("reset")])
    error.__cause__ = KeyError("key")
    found = recalled(error)
    assert isinstance(found, FallbackExceptionGroup)
    assert [type(each) for each in found.exceptions] == [type(limited()), ConnectionError]
    assert repr(found.__cause__) == "KeyError('key')"


def test_an_error_that_holds_itself_is_recorded_too() -> None:
    error = ValueError("round")
    error.me = error  # type: ignore[attr-defined]
    error.raw = b"\xff"  # type: ignore[attr-defined]
    assert (str(recalled(error)), type(recalled(error))) == ("round", ValueError)
