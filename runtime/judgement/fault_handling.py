"""What a runtime does with seed 003's error configuration: retry policies, breakers, quotas, notices, verdicts.

Its fields are declared in `orbiter.policy`, where a program finds them. `runtime.execution.failures.errors_in_force`
says which one holds at a node.
"""

from __future__ import annotations

from functools import lru_cache

from msgspec.structs import replace
from pydantic import Field, field_validator

from orbiter import policy
from orbiter.policy import BackoffStrategy, Channel, ProviderErrorSettings, QuotaAction
from runtime.judgement.faults.rules.rule import Rule
from runtime.judgement.recovery.breaker import BreakerPolicy
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Persistence,
)

__all__ = ["BackoffStrategy", "Channel", "FaultHandling", "ProviderErrorSettings", "QuotaAction"]


@lru_cache(maxsize=8)
def _breaker_policy(enabled: bool, threshold: int, cooldown_s: float) -> BreakerPolicy:
    return BreakerPolicy(enabled=enabled, threshold=threshold, cooldown_s=cooldown_s)


_SERVICE_DELAYS = {("openrouter", 408): 5.0, ("openrouter", 502): 5.0}
_OPENROUTER_SERVER_S, _SERVER_ERRORS = 10.0, 500
# Seed 003: OpenRouter is asked again after these seconds, where no configuration says otherwise.


class FaultHandling(policy.ErrorHandlingConfig):
    """The configuration with its rules read, and what follows from it.

    Raises:
        pydantic.ValidationError: As `orbiter.policy.ErrorHandlingConfig`, or a rule is malformed.
    """

    rules: tuple[Rule, ...] = Field(default=(), description="rules of your own, as `[[rules]]` below")

    @field_validator("rules")
    @classmethod
    def _have_ids_of_their_own(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        ids = [rule.id for rule in rules]
        for rule_id in ids:
            if ids.count(rule_id) > 1:
                raise ValueError(f"rule '{rule_id}' is given twice; ids must differ")
        return rules

    def policy_for(self, fault: Classification) -> RetryPolicy:
        """The retry policy for a fault: its provider's, and for rate limits their own number of attempts."""
        own = self.provider(fault.provider)
        attempts = self.max_attempts
        if fault.cause is Cause.RATE_LIMITED:
            attempts = self.max_rate_limit_retries + 1
        if own.max_retries is not None:
            attempts = own.max_retries + 1
        if fault.cause is Cause.RATE_LIMITED and not self.auto_retry_on_rate_limits:
            attempts = 1
        service = _SERVICE_DELAYS.get((fault.provider, fault.http_status or 0))
        if service is None and fault.provider == "openrouter" and (fault.http_status or 0) >= _SERVER_ERRORS:
            service = _OPENROUTER_SERVER_S
        if service is not None and own.base_retry_delay is None and "base_retry_delay" not in self.model_fields_set:
            return RetryPolicy(
                max_attempts=attempts,
                base=service,
                fixed=service,
                max_hint_delay=self.max_hint_delay,
                max_retry_delay=max(self.max_retry_delay, service),
            )
        base = self.base_retry_delay if own.base_retry_delay is None else own.base_retry_delay
        return RetryPolicy(
            max_attempts=attempts,
            base=base,
            # A provider's own base may be longer than what holds for all: then it is the cap too.
            max_retry_delay=max(self.max_retry_delay, base),
            max_hint_delay=self.max_hint_delay,
            fixed=base if own.rate_limit_strategy == "fixed_delay" and fault.cause is Cause.RATE_LIMITED else None,
        )

    def breaker_policy(self) -> BreakerPolicy:
        """The policy of every breaker."""
        # Asked at every attempt of every step.
        return _breaker_policy(
            self.enable_circuit_breaker, self.circuit_breaker_threshold, self.circuit_breaker_timeout
        )

    def quota_action(self, provider: str) -> QuotaAction:
        """What follows a used-up quota at a provider."""
        return self.provider(provider).insufficient_quota_action

    def reclassify(self, fault: Classification, exc: BaseException) -> Classification:
        """`fault` as the two lists want it. A class counts by its name or an ancestor's, bare or with module."""
        if not self.use_error_classification:
            return fault
        names = {n for cls in type(exc).__mro__ for n in (cls.__name__, f"{cls.__module__}.{cls.__qualname__}")}
        if names & set(self.classify_as_critical):
            kept = fault.persistence is Persistence.NEEDS_CHANGE
            change = {
                "impact": Impact.RUN,
                "persistence": fault.persistence if kept else Persistence.PERMANENT,
                "rule_id": "config.critical",
            }
            return replace(fault, **change)
        if names & set(self.classify_as_recoverable):
            safe = fault.effect in (Effect.NONE, Effect.NOT_ATTEMPTED)
            heals = safe and fault.persistence in (Persistence.TRANSIENT, Persistence.UNKNOWN)
            change = {
                "persistence": Persistence.TRANSIENT if heals else Persistence.NEEDS_CHANGE,
                "rule_id": "config.recoverable",
            }
            return replace(fault, **change)
        return fault
