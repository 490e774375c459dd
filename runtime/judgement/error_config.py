"""Seed 003's error configuration (`[errors]`): retries, back-off cap, channels, checked when they are set.

Where the seed's page gives values only in its example, the defaults are those of the house's rulings: four attempts,
1 s doubled up to 60 s, a breaker of 5 failures and 60 s, no deadline for an operator unless one is set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from runtime.judgement.faults.rules.rule import Rule
from runtime.judgement.recovery.breaker import BreakerPolicy
from runtime.judgement.recovery.retry import MAX_BACKOFF_S, RetryPolicy
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Persistence,
)

Channel = Literal["terminal", "log", "bell", "webhook"]
BackoffStrategy = Literal["exponential_backoff", "fixed_delay"]
QuotaAction = Literal["raise", "fallback", "queue", "notify"]
"""raise: an incident. fallback: the next model. queue: park until it is back. notify: a notice, and an incident."""


def _one_of(*valid: str) -> BeforeValidator:
    """Refuses a word that is none of `valid`, naming the nearest."""

    def check(value: Any) -> Any:
        if isinstance(value, str) and value not in valid:
            raise ValueError(f"{value!r} is unknown{_nearest_word(value, valid)}; valid are: {', '.join(valid)}")
        return value

    return BeforeValidator(check)


def _nearest_word(word: str, valid: Sequence[str]) -> str:
    near = get_close_matches(word.lower(), valid, n=1, cutoff=0.5)
    return f", did you mean '{near[0]}'?" if near else ""


class _CheckedModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, data: Any) -> Any:
        if isinstance(data, Mapping):
            valid = list(cls.model_fields)
            for key in data:
                if key not in valid:
                    raise ValueError(
                        f"unknown key '{key}'{_nearest_word(str(key), valid)}; valid are: {', '.join(valid)}"
                    )
        return data


class ProviderErrorSettings(_CheckedModel):
    """What holds for one provider. What is not set is as in the configuration around it.

    `max_retries` counts attempts after the first, as seed 003's adapters do; `base_retry_delay` is in seconds.
    """

    max_retries: int | None = Field(default=None, ge=0)
    base_retry_delay: float | None = Field(default=None, gt=0)
    rate_limit_strategy: Annotated[BackoffStrategy, _one_of(*get_args(BackoffStrategy))] = "exponential_backoff"
    insufficient_quota_action: Annotated[QuotaAction, _one_of(*get_args(QuotaAction))] = "raise"


@lru_cache(maxsize=8)
def _breaker_policy(enabled: bool, threshold: int, cooldown_s: float) -> BreakerPolicy:
    return BreakerPolicy(enabled=enabled, threshold=threshold, cooldown_s=cooldown_s)


class ErrorHandlingConfig(_CheckedModel):
    """How failures are judged and what is done about them. Delays and times in seconds.

    Raises:
        pydantic.ValidationError: A key or value that is not known, with the nearest that is; values that contradict
            each other.
    """

    use_error_classification: bool = True
    """Whether the two lists below, and an author's own `classify_error`, are asked."""
    classify_as_critical: tuple[str, ...] = ()
    """Exception classes, by name, whose failure ends the run unless a person mends it."""
    classify_as_recoverable: tuple[str, ...] = ()
    """Exception classes, by name, that a person can make succeed, and that are repeated where that is safe."""
    rules: tuple[Rule, ...] = ()
    """Rules of one's own, tried before the built-in ones: for `classify(…, rules=config.rules)`."""

    notify_on_critical_errors: bool = True
    notification_channels: tuple[Annotated[Channel, _one_of(*get_args(Channel))], ...] = ("terminal", "log")
    webhook_url: str | None = None

    enable_error_routing: bool = True
    """Whether an operator may be asked; off: the safe default at once."""
    error_recovery_timeout: float | None = Field(default=None, gt=0)
    """How long an incident waits for an answer before its safe default takes effect; None: as long as it takes."""

    auto_retry_on_rate_limits: bool = True
    max_rate_limit_retries: int = Field(default=3, ge=0)
    max_attempts: int = Field(default=4, ge=1)
    """Attempts in total for everything but rate limits, over all layers."""
    base_retry_delay: float = Field(default=1.0, gt=0)
    max_retry_delay: float = Field(default=MAX_BACKOFF_S, gt=0)
    """The cap of the back-off, in seconds."""
    max_hint_delay: float = Field(default=120.0, ge=0)
    """The longest wait that a server may ask for and that is sat through; a longer one parks the step."""

    enable_circuit_breaker: bool = True
    circuit_breaker_threshold: int = Field(default=5, ge=1)
    circuit_breaker_timeout: float = Field(default=60.0, ge=0)

    provider_settings: dict[str, ProviderErrorSettings] = Field(default_factory=dict)

    @field_validator("classify_as_critical", "classify_as_recoverable")
    @classmethod
    def _are_class_names(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if not all(part.isidentifier() for part in name.split(".")):
                raise ValueError(f"'{name}' is no name of an exception class, such as 'RateLimitError'")
        return names

    @field_validator("rules")
    @classmethod
    def _have_ids_of_their_own(cls, rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
        ids = [rule.id for rule in rules]
        for rule_id in ids:
            if ids.count(rule_id) > 1:
                raise ValueError(f"rule '{rule_id}' is given twice; ids must differ")
        return rules

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> ErrorHandlingConfig:
        both = set(self.classify_as_critical) & set(self.classify_as_recoverable)
        if both:
            raise ValueError(f"{', '.join(sorted(both))} cannot be both critical and recoverable")
        if self.max_retry_delay < self.base_retry_delay:
            raise ValueError(
                f"max_retry_delay ({self.max_retry_delay:g}) is below base_retry_delay ({self.base_retry_delay:g})"
            )
        if "webhook" in self.notification_channels and not self.webhook_url:
            raise ValueError("notification channel 'webhook' needs webhook_url")
        if self.webhook_url and not self.webhook_url.startswith(("http://", "https://")):
            raise ValueError(f"webhook_url must start with http:// or https://, not {self.webhook_url!r}")
        return self

    def provider(self, name: str) -> ProviderErrorSettings:
        """What holds for a provider: its own settings, or those that hold for all."""
        return self.provider_settings.get(name) or ProviderErrorSettings()

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
        base = self.base_retry_delay if own.base_retry_delay is None else own.base_retry_delay
        return RetryPolicy(
            max_attempts=attempts,
            base=base,
            # A provider's own base may be longer than what holds for all: then it is the cap too.
            cap=max(self.max_retry_delay, base),
            hint_cap=self.max_hint_delay,
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

    def notices_for(self, fault: Classification) -> tuple[Channel, ...]:
        """The channels on which a fault is announced: all for one that ends a run, none for what needs nobody."""
        grave = fault.impact in (Impact.RUN, Impact.PROCESS)
        return self.notification_channels if grave and self.notify_on_critical_errors else ()

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
            return fault.model_copy(update=change)
        if names & set(self.classify_as_recoverable):
            safe = fault.effect in (Effect.NONE, Effect.NOT_ATTEMPTED)
            heals = safe and fault.persistence in (Persistence.TRANSIENT, Persistence.UNKNOWN)
            change = {
                "persistence": Persistence.TRANSIENT if heals else Persistence.NEEDS_CHANGE,
                "rule_id": "config.recoverable",
            }
            return fault.model_copy(update=change)
        return fault
