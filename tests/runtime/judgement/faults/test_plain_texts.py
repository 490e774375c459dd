"""Texts that only look like a known failure, and what words alone may never prove."""

from __future__ import annotations

import builtins
import json
import random
from pathlib import Path
from typing import Any

import pytest

from runtime.judgement.faults.classify import classify, classify_record
from runtime.judgement.faults.rules.builtin import builtin_rules
from runtime.judgement.recovery.retry import RetryPolicy, decide_retry
from runtime.record.state.fault_taxonomy import Classification, Effect, Impact, Origin, Remedy

_DATA = Path(__file__).parents[3] / "data"


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_DATA / name).read_text(encoding="utf-8").splitlines()]


_OF_RULES = {name for rule in builtin_rules() for name in rule.exception if "*" not in name}
_OF_PYTHON = {
    name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
}
QUOTED = sorted(f"{name}: half of it was booked" for name in _OF_RULES | _OF_PYTHON)
CODES = sorted({code for rule in builtin_rules() for code in rule.code if "_" in code and "*" not in code})
_BY_WORDS = {rule.id for rule in builtin_rules() if rule.text and not (rule.exception or rule.code)}
SPOKEN = sorted(
    row["record"]["message"]
    for row in _rows("rule-examples.jsonl")
    if row["rule"] in _BY_WORDS and row["record"].get("message")
)


def _remedy(found: Classification) -> Remedy:
    return decide_retry(found, attempt=1, policy=RetryPolicy(), rng=random.Random(1)).remedy


@pytest.mark.parametrize("row", _rows("plain-texts.jsonl"), ids=lambda row: row["message"][:60])
def test_a_plain_text_gets_no_cause_that_it_does_not_say(row: dict[str, Any]) -> None:
    record: dict[str, Any] = {key: row[key] for key in ("origin", "message", "status") if key in row}
    said = [classify_record(record)]
    if "status" not in row:
        said.append(classify(RuntimeError(row["message"]), origin=Origin(row["origin"])))
    for found in said:
        assert found.cause not in row.get("not", ()), found
        assert found.cause == row.get("is", found.cause), found


@pytest.mark.parametrize("words", QUOTED)
def test_a_quoted_class_name_proves_no_effect_and_moves_no_fault(words: str) -> None:
    for origin in (Origin.TOOL, Origin.HOOK, Origin.AGENT, Origin.MODEL):
        found = classify(RuntimeError(words), origin=origin, effect=Effect.UNKNOWN)
        assert found.origin is origin, found
        assert found.impact in (Impact.ABSORBED, Impact.NODE), found
        assert _remedy(found) not in (Remedy.RETRY, Remedy.WAIT_RETRY), found
        if found.rule_id not in _BY_WORDS:
            assert found.effect is Effect.UNKNOWN, found


@pytest.mark.parametrize("code", CODES)
def test_no_code_in_words_makes_a_tool_run_again_unasked(code: str) -> None:
    for words in (f"{code}: half of it was booked", f"half of it was booked (error code: {code})"):
        found = classify(RuntimeError(words), origin=Origin.TOOL, effect=Effect.UNKNOWN)
        assert found.origin is Origin.TOOL, found
        assert found.impact in (Impact.ABSORBED, Impact.NODE), found
        assert _remedy(found) not in (Remedy.RETRY, Remedy.WAIT_RETRY), found


@pytest.mark.parametrize("words", SPOKEN)
def test_no_words_make_a_tool_run_again_unasked(words: str) -> None:
    found = classify(RuntimeError(words), origin=Origin.TOOL, effect=Effect.UNKNOWN)
    assert _remedy(found) not in (Remedy.RETRY, Remedy.WAIT_RETRY), found


@pytest.mark.parametrize("name", ["parser.EndOfStream", "rows.ClosedResourceError", "shop.BrokenResourceError"])
def test_a_name_that_only_one_library_means_as_a_broken_connection(name: str) -> None:
    module, _, own = name.rpartition(".")
    error = type(own, (Exception,), {"__module__": module})("the rows are read")
    assert classify(error, origin=Origin.TOOL).cause == "tool_failed"
