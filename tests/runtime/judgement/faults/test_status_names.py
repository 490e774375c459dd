"""A status has one name under every Python; both its old name (RFC 7231) and its new one (RFC 9110) are known."""

from __future__ import annotations

import pytest

from orbiter.models.model_errors import CallContext
from runtime.judgement.faults.classify import classify

RENAMED = {
    413: ("Request Entity Too Large", "Content Too Large"),
    414: ("Request-URI Too Long", "URI Too Long"),
    416: ("Requested Range Not Satisfiable", "Range Not Satisfiable"),
    422: ("Unprocessable Entity", "Unprocessable Content"),
}


@pytest.mark.parametrize("status", RENAMED)
def test_a_renamed_status_is_known_by_both_names(status: int) -> None:
    old, new = (classify(RuntimeError(f"{status} {name}")) for name in RENAMED[status])
    assert old.http_status == new.http_status == status
    assert (old.cause, old.persistence, old.rule_id) == (new.cause, new.persistence, new.rule_id)


@pytest.mark.parametrize("status", RENAMED)
def test_an_answer_without_words_is_named_the_same_under_every_python(status: int) -> None:
    assert f"{status} {RENAMED[status][0]}" in str(CallContext("openai", "gpt").http_error(status, {}, ""))


def test_an_error_body_that_is_nested_too_deeply_is_an_error_without_words() -> None:
    assert CallContext("openai", "gpt").http_error(500, {}, "[" * 100_000).status == 500
