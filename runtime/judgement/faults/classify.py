"""The classifier: from a failure to its `Classification`.

Never raises; what no rule places is `unknown`, with the original kept.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from orbiter.errors import text_of
from orbiter.redaction import mask_secrets
from runtime.judgement.faults import cause_text, retry_after
from runtime.judgement.faults.client_libraries import is_of_another_service
from runtime.judgement.faults.evidence import MAX_TEXT, Evidence
from runtime.judgement.faults.evidence_extraction import from_exception, from_record, quoted_failure
from runtime.judgement.faults.fault_words import (
    all_suggestions,
    error_context,
    redact_words,
    technical_message,
    user_message,
)
from runtime.judgement.faults.known_codes import with_known_codes
from runtime.judgement.faults.rules.builtin import builtin_rules
from runtime.judgement.faults.rules.rule import Rule, first_match
from runtime.judgement.faults.wait_time import parse_moment
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)

LONG_WAIT_S = 86_400.0
"""A rate limit that asks for a day or more is a quota in disguise (Azure: "retry after 86400 seconds")."""

_SHORTEST_QUOTA_S = 300.0
# A used-up quota does not come back in seconds: Gemini gives a retryDelay of 35 s for limits per day.

_CALL_STRETCHES = frozenset(
    {"response", "stream", "client", "connect", "request", "first_token", "llm", "model", "headers", "body"}
)
_MODEL_CAUSES = frozenset(
    {
        Cause.RATE_LIMITED, Cause.QUOTA_EXHAUSTED, Cause.MODEL_UNKNOWN, Cause.PAYLOAD_TOO_LARGE, Cause.CONTEXT_OVERFLOW,
        Cause.SERVICE_UNAVAILABLE, Cause.EMPTY_COMPLETION, Cause.REFUSED, Cause.AUTH_FAILED,
    }
)  # fmt: skip
_WAITABLE_CAUSES = frozenset({Cause.RATE_LIMITED, Cause.QUOTA_EXHAUSTED, Cause.UNKNOWN})
_REFUSALS = frozenset({Cause.RATE_LIMITED, Cause.QUOTA_EXHAUSTED})
_TOUCHES_WORLD = frozenset({Origin.TOOL, Origin.HOOK, Origin.QUEUE})
_TOOL_RAISED = "tool.raised"
_NOT_TAKEN_FROM_QUOTES = dict.fromkeys(("effect", "impact", "set_origin", "proposal", "limit"))
_UNSENT = frozenset(
    {Cause.CIRCUIT_OPEN, Cause.POLICY_DENIED, Cause.POOL_EXHAUSTED, Cause.CONFIG_INVALID, Cause.LIMIT_REACHED}
)
_KNOWN_ORIGINS = frozenset(Origin) - {Origin.RUNNER}
_ABSORBED_ORIGINS = frozenset({Origin.TOOL, Origin.TELEMETRY, Origin.STORE})


def classify(
    exc: BaseException,
    *,
    origin: Origin | None = None,
    provider: str = "",
    effect: Effect | None = None,
    where: str = "",
    node_path: Sequence[str] = (),
    now: float | None = None,
    rules: Sequence[Rule] = (),
    secrets: Sequence[str] = (),
) -> Classification:
    """The facts of an exception, unwrapped from its wrappers.

    Args:
        exc: What was raised.
        origin: Where, as the caller knows it; a type that can only come from one place (a `SwarmError`) overrules it.
        provider: The model provider, where the exception does not say.
        effect: What the call may have done, where the caller knows it (`NOT_ATTEMPTED` before it began).
        where: In which part of the call it failed, if the exception does not say so.
        node_path: The node, for the record.
        now: Epoch seconds at the failure, for hints that are points in time; None: this moment.
        rules: An operator's rules, tried before the built-in ones.
        secrets: Known secrets, masked as well as what looks like one.

    Returns:
        The classification. Secrets in its texts are masked.
    """
    asked = _Request(origin, effect, where, tuple(str(p) for p in node_path), now, rules, secrets)
    try:
        found = from_exception(exc, provider, secrets)
    except Exception as problem:
        return _unknown_fault(text_of(exc), problem, asked)
    return _classify(found, asked)


def classify_record(
    record: Mapping[str, Any], *, now: float | None = None, rules: Sequence[Rule] = ()
) -> Classification:
    """The facts of an error in a log line, as `orbiter-console classify` reads it.

    Args:
        record: `provider, status, type, code, message, where, headers, body`, or `exception` as "ClassName: text";
            `origin` and `effect` may be stated. What is missing or of another type is ignored.
        now: Epoch seconds at the failure; None: this moment.
        rules: An operator's rules, tried before the built-in ones.
    """
    asked = _Request(now=now, rules=rules)
    try:
        found = from_record(record)
    except Exception as problem:
        return _unknown_fault(type(record).__name__, problem, asked)
    return _classify(found, asked)


class _Request(NamedTuple):
    """What the caller knows."""

    origin: Origin | None = None
    effect: Effect | None = None
    where: str = ""
    path: tuple[str, ...] = ()
    now: float | None = None
    rules: Sequence[Rule] = ()
    secrets: Sequence[str] = ()


def _classify(found: Evidence, asked: _Request) -> Classification:
    try:
        return _classification(found, asked)
    except Exception as problem:
        return _unknown_fault(found.message, problem, asked)


def _classification(found: Evidence, asked: _Request) -> Classification:
    now = time.time() if asked.now is None else asked.now
    where = asked.where
    found = with_known_codes(found, asked.rules)
    stated = asked.origin or found.origin
    rule, found, quoted = _matching_rule(found, asked, stated or _guess_origin(found, None, where))
    cause = rule.cause if rule else Cause.UNKNOWN
    persistence = (rule.persistence if rule else None) or cause_text.PERSISTENCE_TEXT[cause]
    hint = _retry_hint(found, cause, persistence, now)
    rule_id = rule.id if rule else "unknown"
    suggestions = rule.suggestions if rule else ()
    if cause is Cause.RATE_LIMITED and hint and hint.seconds >= LONG_WAIT_S and persistence is Persistence.TRANSIENT:
        cause, persistence, rule_id = Cause.QUOTA_EXHAUSTED, Persistence.NEEDS_CHANGE, f"{rule_id}+long-wait"
    elif cause is Cause.UNKNOWN and hint:
        persistence, rule_id = Persistence.TRANSIENT, "hint"
    elif found.recoverable and persistence in (Persistence.UNKNOWN, Persistence.PERMANENT):
        persistence = Persistence.NEEDS_CHANGE
    if found.said_recoverable is False:
        persistence, hint = Persistence.PERMANENT, None
    told = retry_after.should_retry(found.headers)
    if told is False and persistence in (Persistence.TRANSIENT, Persistence.UNKNOWN):
        persistence, rule_id = Persistence.NEEDS_CHANGE, f"{rule_id}+x-should-retry"
    elif told is True and rule_id in ("unknown", "status.4xx"):
        cause, persistence, rule_id = Cause.SERVICE_UNAVAILABLE, Persistence.TRANSIENT, f"{rule_id}+x-should-retry"
    place = (rule.set_origin if rule else None) or stated or _guess_origin(found, cause, where)
    proven = Cause.UNKNOWN if quoted else cause  # words prove neither that nothing was sent nor how far it reaches
    return Classification(
        origin=place,
        cause=cause,
        persistence=persistence,
        effect=_effect_known(
            asked.effect or found.effect,
            # By the place of the call: a rule may say whose failure it is, but not that a tool did nothing before.
            _infer_effect(
                rule,
                stated or place,
                proven,
                known=bool(stated) or place in _KNOWN_ORIGINS,
                refused=_refused_call(found, stated or place, proven),
            ),
        ),
        impact=(rule.impact if rule else None) or _infer_impact(place, proven),
        exhausted=found.exhausted,
        retry_after_s=hint.seconds if hint else None,
        hint_source=hint.source if hint else "",
        provider=found.provider,
        http_status=found.status,
        code=redact_words(found.code),
        exception=found.names[0] if found.names else "",
        node_path=asked.path or found.node_path,
        limit=rule.limit if rule else None,
        proposal=rule.proposal if rule else None,
        recoverable=found.said_recoverable,
        user_message=user_message(found, cause),
        technical=technical_message(found),
        suggestions=all_suggestions(found, cause, suggestions),
        rule_id=rule_id,
        context=error_context(found, asked.secrets),
    )


def _matching_rule(found: Evidence, asked: _Request, origin: Origin) -> tuple[Rule | None, Evidence, bool]:
    """The rule that decides, and the evidence with what the failure quotes, where only that says something.

    True: the rule is of what is quoted. Of that only cause and persistence are taken.
    """
    rules = (*asked.rules, *builtin_rules())
    rule = first_match(rules, found, origin)
    quoted = quoted_failure(found, asked.secrets) if rule is None or rule.id == _TOOL_RAISED else None
    told = first_match(rules, quoted, origin) if quoted else None
    if quoted is None or told is None or told.cause is Cause.CANCELLED or told.impact is Impact.PROCESS:
        return rule, found, False
    rule = told.model_copy(update=_NOT_TAKEN_FROM_QUOTES)
    return rule, replace(found, status=quoted.status, provider=quoted.provider, codes=quoted.codes), True


def _retry_hint(found: Evidence, cause: Cause, persistence: Persistence, now: float) -> retry_after.RetryHint | None:
    if persistence is not Persistence.TRANSIENT and cause not in _WAITABLE_CAUSES:
        return None
    resets: retry_after.Resets = "none"
    if cause is Cause.RATE_LIMITED or (cause is Cause.UNKNOWN and found.status is None):
        resets = "any"
    elif cause is Cause.QUOTA_EXHAUSTED:
        resets = "used_up"
    words = f"{found.text} {' '.join(found.codes[:3])}"
    hint = retry_after.find_retry_hint(found.headers, found.body, words, now=now, resets=resets)
    if hint is None and found.retry_after is not None:
        seconds = parse_moment(str(found.retry_after), now)
        hint = retry_after.RetryHint(seconds, "retry_after") if seconds is not None else None
    if hint and cause is Cause.QUOTA_EXHAUSTED and hint.seconds < _SHORTEST_QUOTA_S:
        return None
    return hint


def _guess_origin(found: Evidence, cause: Cause | None, where: str) -> Origin:
    if found.provider or {found.where, where} & _CALL_STRETCHES:
        return Origin.MODEL
    if is_of_another_service(found.names):
        return Origin.RUNNER
    if found.from_api or cause in _MODEL_CAUSES:
        return Origin.MODEL
    if found.logged and cause in (Cause.NETWORK, Cause.TIMEOUT):
        return Origin.MODEL  # a log line that names no place speaks of a model call
    return Origin.RUNNER


def _infer_effect(rule: Rule | None, origin: Origin, cause: Cause, *, known: bool, refused: bool) -> Effect:
    """What the call may have done. A model call changes nothing; a tool may have, before the call in it that failed."""
    if rule and rule.effect is Effect.NOT_ATTEMPTED and cause in (Cause.NETWORK, Cause.TIMEOUT):
        return rule.effect  # no connection came about: nothing was sent
    if origin in _TOUCHES_WORLD and cause in (Cause.NETWORK, Cause.TIMEOUT, Cause.AUTH_FAILED, Cause.CONFIG_INVALID):
        return rule.effect or Effect.UNKNOWN if rule and origin is Origin.QUEUE else Effect.UNKNOWN
    if rule and rule.effect:
        return rule.effect
    if refused:
        return Effect.NOT_ATTEMPTED
    if cause in _UNSENT and origin not in _TOUCHES_WORLD:
        return Effect.NOT_ATTEMPTED  # what user code raises may be of a breaker or a pool of its own, in mid-work
    return Effect.UNKNOWN if origin in _TOUCHES_WORLD or not known else Effect.NONE


def _refused_call(found: Evidence, origin: Origin, cause: Cause) -> bool:
    """Whether a service refused a tool's call for its rate limit: its answer says so, not words that anything says."""
    if origin not in (Origin.TOOL, Origin.HOOK) or cause not in _REFUSALS:
        return False
    told = first_match(builtin_rules(), found.without_words(), origin)
    return told is not None and told.cause in _REFUSALS


def _effect_known(stated: Effect | None, found: Effect) -> Effect:
    """What the caller states, except that "unknown" yields to the certainty that nothing was attempted."""
    if stated is None or (stated is Effect.UNKNOWN and found is Effect.NOT_ATTEMPTED):
        return found
    return stated


def _infer_impact(origin: Origin, cause: Cause) -> Impact:
    if origin in _ABSORBED_ORIGINS:
        return Impact.ABSORBED
    if origin is Origin.CONSOLE and cause is Cause.INTERNAL:
        return Impact.PROCESS
    return Impact.RUN if cause is Cause.LIMIT_REACHED else Impact.NODE


def _unknown_fault(text: str, problem: Exception, asked: _Request) -> Classification:
    """Classifying failed. The original failure is what matters; that of the classifier stands beside it."""
    try:
        words = redact_words(mask_secrets(text, asked.secrets)[:MAX_TEXT])
        aside = redact_words(f"{type(problem).__name__}: {text_of(problem)}")
    except Exception:
        words, aside = "", type(problem).__name__
    return Classification(
        origin=asked.origin or Origin.RUNNER,
        cause=Cause.UNKNOWN,
        persistence=Persistence.UNKNOWN,
        effect=asked.effect or Effect.UNKNOWN,
        node_path=asked.path,
        user_message=cause_text.CAUSE_TEXT[Cause.UNKNOWN] + ".",
        technical=f"{words}\n(the classifier failed: {aside})",
        rule_id="classifier-failed",
    )
