"""What a failure means, when a group has succeeded, which models stand in for another, and how errors are handled.

The words are seed 004's: failure policies ``fail``, ``degrade``, ``continue``; join policies ``all_required``,
``allow_optional_failures``, ``first_success``, ``quorum``. They are checked when a policy is made: an unknown word is
refused with the nearest valid one, never read as another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

from orbiter._internal.declarations.budget_limits import BUDGET_LIMITS, BudgetLimit
from orbiter._internal.declarations.error_handling import (
    BackoffStrategy,
    Channel,
    ErrorHandlingConfig,
    ProviderErrorSettings,
    QuotaAction,
    as_error_handling,
)
from orbiter._internal.keywords import name_nearest_field
from orbiter.errors import ConfigurationError, JoinError
from orbiter.parsing.near_names import did_you_mean

__all__ = [
    "BUDGET_LIMITS",
    "BackoffStrategy",
    "BudgetLimit",
    "Channel",
    "ErrorHandlingConfig",
    "FailureMode",
    "FailurePolicy",
    "JoinKind",
    "JoinPolicy",
    "ProviderErrorSettings",
    "QuotaAction",
    "Verdict",
    "as_error_handling",
    "failure_word",
    "fallback_chain",
]

FailureMode = Literal["fail", "degrade", "continue"]
"""fail: the run stops. degrade: it goes on and ends degraded. continue: it goes on with a warning."""

JoinKind = Literal["all_required", "allow_optional_failures", "first_success", "quorum"]

Verdict = Literal["pending", "met", "degraded", "violated"]


def _word(word: object, valid: tuple[str, ...], what: str, field: str) -> str:
    if isinstance(word, str) and word in valid:
        return word
    hint = did_you_mean(word, valid, sentence=True)
    raise ConfigurationError(
        f"Unknown {what} {word!r}",
        hint=f"{hint}Valid are: {', '.join(valid)}",
        config_field=field,
        config_value=str(word),
    )


def failure_word(word: object, place: str, valid: tuple[str, ...] = get_args(FailureMode)) -> FailureMode:
    """`word` if it is a failure policy.

    Args:
        word: What was given.
        place: Where it stands, for the error.
        valid: The words that are valid there.

    Returns:
        The word.

    Raises:
        ConfigurationError: It is not a failure policy; `place` says where it stands.
    """
    return cast("FailureMode", _word(word, valid, f"failure policy for {place}:", "failure"))


@name_nearest_field
@dataclass(frozen=True, slots=True)
class FailurePolicy:
    """What a failure means once retries and fallbacks are spent, by where it happened.

    A model's failure cannot be continued past, because an agent needs its reply: `model` is ``fail`` or
    ``degrade``.

    Args:
        model: What a failed model call means: ``fail`` or ``degrade``.
        tool: What a failed tool means: ``fail``, ``degrade`` or ``continue`` (the model is told and goes on).
        agent: What a failed sub-agent means: ``fail``, ``degrade`` or ``continue``.

    Raises:
        ConfigurationError: A word is unknown.

    Examples:
        >>> from orbiter import Agent, FailurePolicy
        >>> Agent(name="clerk", failure=FailurePolicy(tool="fail")).failure.tool
        'fail'
        >>> FailurePolicy.of("degrade").model
        'degrade'
    """

    model: FailureMode = "fail"
    tool: FailureMode = "continue"
    agent: FailureMode = "fail"

    def __post_init__(self) -> None:
        failure_word(self.model, "a model", ("fail", "degrade"))
        failure_word(self.tool, "a tool")
        failure_word(self.agent, "a sub-agent")

    @classmethod
    def of(cls, value: FailurePolicy | Mapping[str, Any] | str | None) -> FailurePolicy:
        """A policy from itself, a mapping by place, one word for all places, or None for the defaults.

        Raises:
            ConfigurationError: A word or place is unknown.
        """
        if value is None:
            return cls()
        if isinstance(value, FailurePolicy):
            return value
        if isinstance(value, Mapping):
            places = tuple(cls.__slots__)
            for place in value:
                _word(place, places, "place of a failure policy", "failure")
            return cls(**value)
        word = failure_word(value, "an agent")
        return cls(model="degrade" if word == "continue" else word, tool=word, agent=word)


def declared_agent_policy(value: FailurePolicy | Mapping[str, Any] | str | None) -> FailureMode | None:
    """What was said of sub-agents; None where nothing was, and an operator is asked where one may be."""
    said = value is not None and not (isinstance(value, Mapping) and "agent" not in value)
    return FailurePolicy.of(value).agent if said else None


@name_nearest_field
@dataclass(frozen=True, slots=True)
class JoinPolicy:
    """When a group or team has succeeded.

    - ``all_required``: every member must succeed.
    - ``allow_optional_failures``: members named in `optional` may fail, and the result is then degraded. With no member
      named, each may fail but not all.
    - ``first_success``: one success is enough; the others are not waited for, and may have failed.
    - ``quorum``: `quorum` successes are enough; otherwise the same.

    Args:
        kind: One of the four words.
        quorum: How many successes are enough, for ``quorum``; at least 1.
        optional: Members that may fail, for ``allow_optional_failures``.

    Raises:
        ConfigurationError: The kind is unknown, or `quorum` or `optional` does not belong to it.

    Examples:
        >>> from orbiter import JoinPolicy
        >>> policy = JoinPolicy.of("quorum:2")
        >>> policy.verdict(["a", "b", "c"], succeeded=["a"], failed=["b"])
        'pending'
        >>> policy.verdict(["a", "b", "c"], succeeded=["a", "c"], failed=["b"])
        'met'
    """

    kind: JoinKind = "all_required"
    quorum: int = 1
    optional: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        _word(self.kind, get_args(JoinKind), "join policy", "join")
        if type(self.quorum) is not int or self.quorum < 1:
            raise ConfigurationError(f"A quorum must be a whole number of at least 1, got {self.quorum!r}")
        if self.optional and self.kind != "allow_optional_failures":
            raise ConfigurationError(
                f"Optional members {list(self.optional)} mean nothing under the join policy '{self.kind}'",
                hint="Use 'allow_optional_failures'",
            )

    @classmethod
    def of(cls, value: JoinPolicy | Mapping[str, Any] | str | None) -> JoinPolicy:
        """A policy from itself, its word (``quorum:2`` for a quorum of two), a mapping of its fields, or None for
        ``all_required``.

        Raises:
            ConfigurationError: The word or a field is unknown, or its number is missing or malformed.
        """
        if value is None:
            return cls()
        if isinstance(value, Mapping):
            for field in value:
                _word(field, tuple(cls.__slots__), "field of a join policy", "join")
            return cls(**{**value, "optional": tuple(value.get("optional", ()))})
        if isinstance(value, JoinPolicy):
            return value
        word, colon, number = str(value).partition(":")
        if word == "quorum" and colon:
            if not number.strip().isdecimal():
                raise ConfigurationError(f"Unknown join policy {value!r}", hint="Write a quorum of two as 'quorum:2'")
            return cls("quorum", quorum=int(number))
        return cls(cast("JoinKind", value))

    def to_dict(self) -> dict[str, Any]:
        """The policy as JSON, for `of`: the fields that mean something for its kind."""
        found: dict[str, Any] = {"kind": self.kind}
        if self.kind == "quorum":
            found["quorum"] = self.quorum
        if self.optional:
            found["optional"] = list(self.optional)
        return found

    def check(self, members: Collection[str], place: str) -> None:
        """Check the policy against the members that it will judge.

        Raises:
            ConfigurationError: The quorum is larger than the group, or an optional member is not in it.
        """
        if self.kind == "quorum" and self.quorum > len(members):
            raise ConfigurationError(
                f"{place}: a quorum of {self.quorum} cannot be reached by {len(members)} members",
                hint=f"Use at most 'quorum:{len(members)}'",
            )
        for name in self.optional:
            if name not in members:
                _word(name, tuple(members), f"optional member of {place}", "optional")

    def may_fail(self, members: Collection[str]) -> tuple[str, ...]:
        """The members whose failure alone does not violate the policy, and so does not wait for a person."""
        if self.kind == "all_required":
            return ()
        return self.optional or tuple(members)

    def verdict(self, members: Collection[str], succeeded: Collection[str], failed: Collection[str]) -> Verdict:
        """What the outcomes so far come to. ``pending`` says that a member still running can change it."""
        settled = len(succeeded) + len(failed) >= len(members)
        if self.kind in {"first_success", "quorum"}:
            needed = self.quorum if self.kind == "quorum" else 1
            if len(succeeded) >= needed:
                return "met"
            return "violated" if len(members) - len(failed) < needed else "pending"
        if any(self._required(name) for name in failed) or (settled and failed and not succeeded):
            return "violated"
        if not settled:
            return "pending"
        return "degraded" if failed else "met"

    def violation(self, place: str, succeeded: Iterable[str], failed: Mapping[str, str]) -> JoinError:
        """The error for a verdict of ``violated``; `failed` maps names to error texts."""
        done = tuple(succeeded)
        if self.kind == "quorum":
            what = f"Quorum of {self.quorum} not reached, {len(done)} succeeded"
        elif self.kind == "first_success" or not any(map(self._required, failed)):
            what = "No subagent succeeded"
        else:
            what = "Required subagent failed"
        reasons = "; ".join(f"'{name}': {text}" for name, text in failed.items())
        return JoinError(
            f"{place}: {what} ({self.kind} policy): {reasons}", policy=self.kind, failed=dict(failed), succeeded=done
        )

    def _required(self, name: str) -> bool:
        if self.kind == "all_required":
            return True
        return self.kind == "allow_optional_failures" and bool(self.optional) and name not in self.optional


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def fallback_chain(models: Iterable[str] | str | None, primary: str = "") -> tuple[str, ...]:
    """Model strings to try in turn after `primary`, each once.

    Args:
        models: Model strings, or one of them; None: none.
        primary: The model for which they stand in.

    Returns:
        The chain.

    Raises:
        ConfigurationError: An entry is not a model string.
    """
    if models is None:
        return ()
    chain: dict[str, None] = {}
    for model in (models,) if isinstance(models, str) else models:
        if not _is_text(model):
            raise ConfigurationError(
                f"A fallback must be a model string, got {model!r}",
                hint="Write it as 'provider:model', such as 'anthropic:claude-sonnet-4-5'",
                config_field="fallbacks",
            )
        if model != primary:
            chain[model] = None
    return tuple(chain)
