"""The status and the codes that stand in an error's words."""

from __future__ import annotations

import re

import pytest

from runtime.judgement.faults.codes_in_text import CODE_FORMS, STATUS_FORMS, code_parts, codes_in_text, status_in_text
from runtime.judgement.faults.kinds import kinds_named


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("521 <!DOCTYPE html><html></html>", 521),
        ("Unexpected Response: 404 (Not Found)\nRaw response content:", 404),
        ("ApiError(429, 'circuit_breaking_exception', '[parent] Data too large')", 429),
        ("(Request ID: Q2Xdfw)\n\nBad request:\nBad Request: Invalid state", 400),
        ("Forbidden: bot was blocked by the user", 403),
        ("Request Entity Too Large: 20 MB", 413),
        ("AI_RetryError: Failed after 3 attempts. Last error: Not Found", 404),
        ("npm ERR! code E404\nnpm ERR! 404 Not Found - GET https://registry.npmjs.org/foo - Not found", 404),
        ("Article `download()` failed with 403 Client Error: Forbidden for url: https://x.com/a", 403),
        ('<HttpError 404 when requesting https://x.com/a returned "File not found: x.">', 404),
        ("received 401 HTTP response", 401),
        ("\n        APIError\n        Code: 403\n        message: None", 403),
        ("(403)\nReason: Forbidden", 403),
        ("Error code: 404 - {'detail': 'x'}", 404),
        ("Redirect response '301 Moved Permanently' for url 'http://x'", 301),
        ("402 items found in the database", None),
        ("500 Customers were imported, then a row was wrong", None),
        ("429 Orders were created, then the database failed", None),
        ("ShapeError(512, 512)", None),
        ("ValueError(500, 'is above 400')", None),
        ("Address\nPostal\n  Code: 429", None),
        ("Loop Detected: the agent called search three times", None),
        ("Insufficient Storage: 3 boxes do not fit", None),
        ("Report\nForbidden: 0\nNot Found: none", None),
        ("we met with 404 friends", None),
        ("Code: 403 West Street", None),
        ("404 Main Street is closed", None),
        ("Gone: three records", None),
        ("the title was Bad Request: a history", None),
    ],
)
def test_status_in_text(text: str, status: int | None) -> None:
    assert status_in_text(text) == status


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("An error occurred (ThrottlingException) when calling the Converse operation: wait", ["ThrottlingException"]),
        ("model_cooldown: All credentials for model gpt-5 are cooling down", ["model_cooldown"]),
        ("insufficient_quota", ["insufficient_quota"]),
        ("Unhandled stop reason: model_context_window_exceeded", ["model_context_window_exceeded"]),
        ("got status: INTERNAL upstream failure code:500", ["INTERNAL"]),
        ('<RPC that terminated with:\n\tstatus = StatusCode.UNAVAILABLE\n\tdetails = "x">', ["UNAVAILABLE"]),
        ("The container is gone.\nErrorCode:ContainerNotFound", ["ContainerNotFound"]),
        ("error: 403 (AccessDenied): Access Denied", ["AccessDenied"]),
        ("{code: Neo.ClientError.Security.Unauthorized} {message: x}", ["Neo.ClientError.Security.Unauthorized"]),
        ("(unavailable_model) Unavailable model: gpt-5-chat", ["unavailable_model"]),
        ("Upstream request failed: [unsupported_tool_schema] The tool schema", ["unsupported_tool_schema"]),
        ('Error from server (NotFound): pods "x" not found', ["NotFound"]),
        ("[TABLE_OR_VIEW_NOT_FOUND] The table or view `foo` cannot be found.", ["TABLE_OR_VIEW_NOT_FOUND"]),
        ("Response content: [{'message': 'x', 'errorCode': 'INVALID_SESSION_ID'}]", ["INVALID_SESSION_ID"]),
        ("the code insufficient_quota: see the table", []),
        ("reason: refusal of the offer", []),
        ("timeout: none", []),
        ("status: INTERNAL", []),
        ("invalid value for (ConnectionTimeout): 'abc'", []),
        ("door code: forbidden_city", []),
        ("source code: NotFoundException.java", []),
        ("content_filter: unknown option", []),
        ("field (AccessDenied): 'x'", []),
    ],
)
def test_codes_in_text(text: str, codes: list[str]) -> None:
    assert codes_in_text(text) == codes


def test_parts_of_a_code() -> None:
    assert code_parts("OperationDenied.ServiceOverdue") == ["OperationDenied", "ServiceOverdue"]
    for whole in ("insufficient_quota", "v1.2.3", "https://example.com/a.b", "urn:x:y", ""):
        assert code_parts(whole) == []


def test_no_form_repeats_without_a_bound() -> None:
    """Such a repetition is tried again at each place of a text: the square of its length."""
    for form in (*STATUS_FORMS.values(), *CODE_FORMS.values()):
        assert not re.search(r"\\s[*+](?!\$)|\\w[*+]", form), form


def test_what_a_name_says_of_itself() -> None:
    assert kinds_named("shop.errors.ShelfNotFound") == ["*notfound*"]
    assert kinds_named("Neo.ClientError.Security.Unauthorized") == ["*authentication*"]
    assert kinds_named("too_many_requests_error") == ["*ratelimit*"]
    assert kinds_named("acme.RateLimitExceededException") == ["*ratelimit*"]
    assert kinds_named("LoginFailure") == ["*authentication*"]
    for name in ("UnreachableCodeError", "OverloadedFunctionError", "ForbiddenWordError", "NotFoundPage", "SlowDown"):
        assert kinds_named(name) == []
    for name in ("ValueError", "notfound.ValueError", "the page was not found", ""):
        assert kinds_named(name) == []
