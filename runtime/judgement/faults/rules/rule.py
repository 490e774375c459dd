"""What a rule of the classifier is: data with an id and a source; the first that matches wins.

The order of the whole table is the order of trust: an operator's own rules, exception types, the provider's own
codes (with words where a provider uses one code for two things), anchored words, codes that say little, status.
Status comes last because it lies in both directions: 429 for an empty account, 400 for a spent budget, 200 for an
overload inside a stream.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Annotated, Any, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from runtime.judgement.faults.evidence import Evidence, plain_code
from runtime.judgement.faults.kinds import KINDS
from runtime.judgement.faults.rules.patterns import compile_pattern, join_alternatives
from runtime.record.state.fault_taxonomy import (
    Cause,
    Effect,
    Impact,
    Limit,
    Origin,
    Persistence,
    Remedy,
)


def _as_tuple(value: Any) -> Any:
    return (value,) if isinstance(value, str | int) and not isinstance(value, bool) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_as_tuple)]
Statuses = Annotated[tuple[int | str, ...], BeforeValidator(_as_tuple)]
Origins = Annotated[tuple[Origin, ...], BeforeValidator(_as_tuple)]
Pattern = Annotated[str, BeforeValidator(join_alternatives)]

_UNCOMPILED = {"compile_patterns": False}


class Rule(BaseModel):
    """One line of the table: conditions, all of which must hold, and what then is known.

    Conditions: `provider` (any of), `exception` (any class name in the exception's ancestry, bare or with module),
    `code` (any of the provider's types, codes or reasons; spelling of case and separators does not matter); of both
    also a kind of name, as ``*notfound*``, which has to be one of `KINDS`;
    `text` and `unless` (regular expressions searched in the words, without regard to case; ``(?&NAME)`` in them is
    a pattern of `patterns.toml`), `status` (numbers, classes such as "5xx", or "none"), `where` (the stretch of the
    call), `origin`.
    Results: `cause` and what differs from what usually goes with that cause.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(
        min_length=1,
        description="the rule's name, which no other rule has; `orbiter-console classify` says which rule decided",
    )
    cause: Cause = Field(
        description=(
            "what it is, as `rate_limited`, `quota_exhausted`, `auth_failed`, `service_unavailable`, "
            "`network`, `bad_request`"
        )
    )
    source: str = Field(default="", description="where the rule comes from: a page, a ticket")
    provider: Words = Field(default=(), description="condition: the provider")
    exception: Words = Field(
        default=(), description="condition: a class name, also of a base class, bare or with its module"
    )
    code: Words = Field(default=(), description="condition: the provider's own type, code or reason")
    text: Pattern = Field(
        default="",
        description=(
            "condition: a regular expression that is found in the message; case does not count; of "
            "several in a list, any"
        ),
    )
    unless: Pattern = Field(default="", description="condition: a regular expression that is not found in the message")
    status: Statuses = Field(default=(), description='condition: a number, a class such as `"5xx"`, or `"none"`')
    where: Words = Field(
        default=(),
        description="condition: the part of the call: `client`, `connect`, `response`, `first_token`, `stream`",
    )
    origin: Origins = Field(default=(), description="condition: what failed: `model`, `tool`, `agent`, …")
    persistence: Persistence | None = Field(
        default=None, description="whether it can succeed later: `transient`, `needs_change`, `permanent`, `unknown`"
    )
    effect: Effect | None = Field(
        default=None, description="what it may have done: `not_attempted`, `none`, `unknown`, `applied`"
    )
    impact: Impact | None = Field(default=None, description="how far it reaches: `absorbed`, `node`, `run`, `process`")
    limit: Limit | None = Field(default=None, description="which limit was met: `tokens`, `cost`, …")
    proposal: Remedy | None = Field(
        default=None, description="the remedy to try first: `retry`, `wait_retry`, `fallback`, `ask_human`, …"
    )
    set_origin: Origin | None = Field(default=None, description="another origin than the one that was seen")
    suggestions: Words = Field(default=(), description="what to tell the operator")

    @field_validator("text", "unless")
    @classmethod
    def _compiles(cls, pattern: str, info: ValidationInfo) -> str:
        if info.context is _UNCOMPILED:
            return pattern
        try:
            compile_pattern(pattern)
        except re.error as exc:
            raise ValueError(f"not a regular expression: {exc}") from exc
        return pattern

    @field_validator("exception", "code")
    @classmethod
    def _known_kinds(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if "*" in name and name not in {f"*{kind}*" for kind in KINDS}:
                raise ValueError(
                    f"'{name}' would match nothing: must be a whole name, or one of "
                    f"{', '.join(f'*{kind}*' for kind in KINDS)}; for other parts use text, for example "
                    "text = '\\bquota\\b'"
                )
        return names

    @field_validator("status")
    @classmethod
    def _known_status(cls, values: tuple[int | str, ...]) -> tuple[int | str, ...]:
        for value in values:
            if isinstance(value, int) and not 100 <= value <= 599:
                raise ValueError(f"{value} is not an HTTP status: must be 100 to 599, for example 429")
            if isinstance(value, str) and not re.fullmatch(r"[1-5]xx|none", value):
                raise ValueError(f"'{value}' is not a status: must be a number, a class or 'none', for example '5xx'")
        return values

    @model_validator(mode="after")
    def _has_condition(self) -> Self:
        if not (self.exception or self.code or self.text or self.status or self.where or self.origin):
            raise ValueError(
                f"rule '{self.id}' would match every failure; give one of: exception, code, text, status, where, origin"
            )
        return self

    def matches(self, evidence: Evidence, origin: Origin | None) -> bool:
        """Whether all conditions hold. `origin` is the caller's word, or what the evidence says."""
        return (
            (not self.origin or origin in self.origin)
            and (not self.status or _has_status(self.status, evidence.status))
            and (not self.provider or _is_provider(self.provider, evidence.provider))
            and (not self.where or evidence.where in self.where)
            and (not self.exception or not set(self.exception).isdisjoint(evidence.names))
            and (not self.code or not _plain_all(self.code).isdisjoint(evidence.codes))
            and (not self.text or compile_pattern(self.text).search(evidence.text) is not None)
            and (not self.unless or compile_pattern(self.unless).search(evidence.text) is None)
        )


class RuleError(ValueError):
    """A rule in the configuration that cannot be used. The message names rule, key and what is wrong."""


def parse_rules(
    table: Iterable[Mapping[str, Any]], where: str = "configuration", *, compile_patterns: bool = True
) -> tuple[Rule, ...]:
    """Rules from `[[rules]]` of a TOML file, checked.

    Args:
        table: The rules as read.
        where: The file, for errors, and as `source` of a rule that names none.
        compile_patterns: Whether regular expressions are checked too. Those of the program are compiled when they are
            first searched for: that a test has checked them is known, and most are never needed.

    Raises:
        RuleError: A key or value that no rule has, a pattern that does not compile, an id given twice.
    """
    rules: dict[str, Rule] = {}
    for number, entry in enumerate(table, 1):
        try:
            rule = Rule.model_validate({"source": where, **entry}, context=None if compile_patterns else _UNCOMPILED)
        except ValidationError as exc:
            name = entry.get("id", f"number {number}")
            problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'rule'}: {e['msg']}" for e in exc.errors())
            raise RuleError(f"{where}: rule '{name}': {problems}") from exc
        if rule.id in rules:
            raise RuleError(f"{where}: rule '{rule.id}' is given twice; ids must differ")
        rules[rule.id] = rule
    return tuple(rules.values())


def first_match(rules: Sequence[Rule], evidence: Evidence, origin: Origin | None) -> Rule | None:
    """The first rule that matches, or None."""
    return next((rule for rule in rules if rule.matches(evidence, origin)), None)


@lru_cache(maxsize=1024)
def _plain_all(codes: tuple[str, ...]) -> frozenset[str]:
    return frozenset(code if code.startswith("*") else plain_code(code) for code in codes)


def _has_status(wanted: tuple[int | str, ...], status: int | None) -> bool:
    if status is None:
        return "none" in wanted
    return status in wanted or f"{status // 100}xx" in wanted


def _is_provider(wanted: tuple[str, ...], provider: str) -> bool:
    name = plain_code(provider)
    return bool(name) and any(name.startswith(plain_code(w)) for w in wanted)
