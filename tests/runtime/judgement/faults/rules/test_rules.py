"""The table of rules, and an operator's additions to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from runtime.judgement.faults.classify import classify, classify_record
from runtime.judgement.faults.kinds import KINDS
from runtime.judgement.faults.rules import patterns
from runtime.judgement.faults.rules.builtin import builtin_rules
from runtime.judgement.faults.rules.patterns import compile_pattern, shared_patterns
from runtime.judgement.faults.rules.rule import RuleError, parse_rules
from runtime.record.state.fault_taxonomy import Cause, Persistence

EXAMPLES = [
    json.loads(line)
    for line in (Path(__file__).parents[4] / "data" / "rule-examples.jsonl").read_text("utf-8").splitlines()
]
"""For each built-in rule, in the order in which they are tried, a record that it decides."""


def test_every_rule_has_an_id_of_its_own_and_a_source() -> None:
    rules = builtin_rules()
    assert len({rule.id for rule in rules}) == len(rules)
    assert [rule.id for rule in rules if not rule.source or rule.source.endswith(".toml")] == []


def test_the_table_is_complete_and_in_its_order() -> None:
    assert [rule.id for rule in builtin_rules()] == [example["rule"] for example in EXAMPLES]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: str(example["rule"]))
def test_every_rule_decides_its_example(example: dict[str, Any]) -> None:
    assert classify_record(example["record"], now=1_767_225_600.0).rule_id == example["rule"]


def test_every_pattern_of_the_table_compiles() -> None:
    for rule in builtin_rules():
        compile_pattern(rule.text)
        compile_pattern(rule.unless)


@pytest.mark.parametrize("condition", ["exception", "code"])
def test_every_kind_of_name_counts_in_classes_and_in_codes(condition: str) -> None:
    asked = {name for rule in builtin_rules() for name in getattr(rule, condition) if "*" in name}
    assert asked == {f"*{kind}*" for kind in KINDS}
    page = (Path(__file__).parents[5] / "docs" / "configuration.md").read_text("utf-8")
    assert {kind for kind in KINDS if f"`*{kind}*`" not in page} == set()


@pytest.mark.parametrize("condition", ["exception", "code"])
@pytest.mark.parametrize("name", ["*banana*", "*NotFound*", "*notfound", "ShelfNot*"])
def test_a_kind_that_would_match_nothing_is_refused(condition: str, name: str) -> None:
    with pytest.raises(RuleError, match=r"would match nothing.*for example"):
        parse_rules([{"id": "x", "cause": "network", condition: name}])
    parse_rules([{"id": "x", "cause": "network", condition: "*notfound*"}])


def test_every_shared_pattern_is_named_by_a_rule() -> None:
    table = "".join(file.read_text("utf-8") for file in Path(patterns.__file__).parent.glob("*.toml"))
    assert {name for name in shared_patterns() if f"(?&{name})" not in table} == set()
    page = (Path(__file__).parents[5] / "docs" / "configuration.md").read_text("utf-8")
    assert {name for name in shared_patterns() if f"`{name}`" not in page} == set()


def test_a_list_of_patterns_matches_as_any_of_them() -> None:
    (rule,) = parse_rules(
        [{"id": "x", "text": ["flux", "warp \\d"], "unless": ["(?&per-day)", "soon"], "cause": "network"}]
    )
    for words, matches in (
        ("Flux!", True),
        ("warp 9", True),
        ("warp", False),
        ("flux soon", False),
        ("daily flux", False),
    ):
        assert (classify_record({"message": words}, rules=(rule,)).rule_id == "x") is matches, words


def test_types_come_before_codes_before_words_before_status() -> None:
    order = [rule.id for rule in builtin_rules()]
    assert (
        order.index("net.timeout") < order.index("code.quota") < order.index("words.rate") < order.index("status.429")
    )


def test_an_operators_rule_comes_first() -> None:
    ours = parse_rules(
        [
            {
                "id": "house.proxy",
                "status": 403,
                "text": "corporate proxy",
                "cause": "network",
                "persistence": "transient",
            }
        ]
    )
    record = {"provider": "openai", "status": 403, "message": "Blocked by the Corporate Proxy"}
    assert classify_record(record).cause is not Cause.NETWORK
    found = classify_record(record, rules=ours)
    assert (found.cause, found.persistence, found.rule_id) == (Cause.NETWORK, Persistence.TRANSIENT, "house.proxy")


def test_a_rule_may_name_an_exception_of_the_users_own() -> None:
    class BeamlineBusy(Exception):
        pass

    ours = parse_rules([{"id": "beam", "exception": "BeamlineBusy", "cause": "pool_exhausted", "suggestions": "Wait"}])
    found = classify(BeamlineBusy("in use"), rules=ours)
    assert (found.cause, found.persistence, found.suggestions[0]) == ("pool_exhausted", "transient", "Wait")


def test_spelling_of_codes_does_not_matter() -> None:
    ours = parse_rules([{"id": "x", "code": "Weird-Thing_happened", "cause": "refused"}])
    assert classify_record({"code": "weirdThingHappened"}, rules=ours).cause is Cause.REFUSED


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"id": "x", "cause": "rate_limited"}, "would match every failure"),
        ({"id": "x", "text": "(", "cause": "rate_limited"}, "not a regular expression"),
        ({"id": "x", "text": ["a", "b("], "cause": "rate_limited"}, "not a regular expression"),
        (
            {"id": "x", "text": "(?&rat)", "cause": "rate_limited"},
            r"no shared pattern is named 'rat'; there are: per-day",
        ),
        ({"id": "x", "text": ["a", 1], "cause": "rate_limited"}, "text"),
        ({"id": "x", "status": 42, "cause": "rate_limited"}, "not an HTTP status"),
        ({"id": "x", "status": "4xy", "cause": "rate_limited"}, "'5xx'"),
        ({"id": "x", "status": 429, "cause": "rate_limit"}, "cause"),
        ({"id": "x", "status": 429, "cause": "rate_limited", "provder": "a"}, "provder"),
        ({"status": 429, "cause": "rate_limited"}, "rule 'number 1'"),
    ],
)
def test_rules_that_cannot_be_used_say_why(entry: dict[str, Any], says: str) -> None:
    with pytest.raises(RuleError, match=says) as caught:
        parse_rules([entry], where="orbiter.toml")
    assert "orbiter.toml" in str(caught.value)


def test_an_id_twice_is_refused() -> None:
    rule = {"id": "x", "status": 429, "cause": "rate_limited"}
    with pytest.raises(RuleError, match="twice"):
        parse_rules([rule, rule])
