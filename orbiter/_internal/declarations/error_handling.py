"""Seed 003's error configuration, as a program and `[errors]` declare it: retries, back-off cap, channels, checked when
they are set.

Where the seed's page gives values only in its example, the defaults are those of the house's rulings: four attempts,
1 s doubled up to 60 s, a breaker of 5 failures and 60 s, no deadline for an operator unless one is set.
`runtime.judgement.fault_handling` derives from it what a runtime does with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from orbiter._internal.declarations.checked_model import CheckedModel
from orbiter.errors import ConfigurationError
from orbiter.parsing.near_names import did_you_mean

Channel = Literal["bell", "terminal", "log", "webhook"]
"""bell: rings. terminal: its title, and a notice of its own (OSC 9, OSC 777). log: the runtime's. webhook: a POST."""
BackoffStrategy = Literal["exponential_backoff", "fixed_delay"]
QuotaAction = Literal["raise", "fallback", "queue", "notify"]
"""raise: an incident. fallback: the next model. queue: park until it is back. notify: a notice, and an incident."""


def _one_of(*valid: str) -> BeforeValidator:
    """Refuses a word that is not one of `valid`, naming the nearest."""

    def check(value: Any) -> Any:
        if isinstance(value, str) and value not in valid:
            raise ValueError(f"{value!r} is unknown; {did_you_mean(value, valid)}valid are: {', '.join(valid)}")
        return value

    return BeforeValidator(check)


class ProviderErrorSettings(CheckedModel):
    """What holds for one provider. What is not set is as in the configuration around it.

    `max_retries` counts attempts after the first, as seed 003's adapters do; `base_retry_delay` is in seconds.
    """

    model_config = ConfigDict(allow_inf_nan=False)

    _example: ClassVar[str] = "ProviderErrorSettings(max_retries=2)"

    max_retries: int | None = Field(default=None, ge=0, description="attempts after the first")
    base_retry_delay: float | None = Field(default=None, gt=0, description="seconds of the first wait")
    rate_limit_strategy: Annotated[BackoffStrategy, _one_of(*get_args(BackoffStrategy))] = Field(
        default="exponential_backoff",
        description='how waits grow after a rate limit: `"exponential_backoff"` or `"fixed_delay"`',
    )
    insufficient_quota_action: Annotated[QuotaAction, _one_of(*get_args(QuotaAction))] = Field(
        default="raise",
        description=(
            'what follows a used-up quota: `"raise"`: an incident; `"fallback"`: the next model; '
            '`"queue"`: wait until it is back; `"notify"`: a notice, and an incident'
        ),
    )

    def __getitem__(self, name: str) -> Any:
        """A setting by its name, as in the mapping that seed 003 writes.

        Raises:
            KeyError: The setting does not exist.
        """
        if name not in type(self).model_fields:
            raise KeyError(name)
        return getattr(self, name)


class ErrorHandlingConfig(CheckedModel):
    """How failures are judged and what is done about them (seed 003). Delays and times in seconds.

    A workspace has one (`[errors]` of ``orbiter.toml``). `Swarm(errors=…)` and `run(…, errors=…)` take one too: its
    settings take precedence over the workspace's. The three fields on notices hold for a workspace only.

    Each field has its meaning and unit in its description; [policies](../policies.md#error-configuration) has them as a
    table.

    Raises:
        pydantic.ValidationError: A field or value that is not known, with the nearest that is; values that contradict
            each other. It is a ValueError, as the error of `Swarm(errors={…})` for the same mistake is.

    Examples:
        >>> from orbiter import Agent, ErrorHandlingConfig, Swarm
        >>> errors = ErrorHandlingConfig(max_attempts=2, max_retry_delay=5.0)
        >>> Swarm(agents=[Agent(name="clerk")], errors=errors).errors.max_attempts
        2
    """

    model_config = ConfigDict(allow_inf_nan=False)

    _example: ClassVar[str] = "ErrorHandlingConfig(max_attempts=2)"

    use_error_classification: bool = Field(
        default=True, description="whether the two lists below and an author's `classify_error` are used"
    )
    # `Sequence`, so that what is given as a list, as in the seed, is read back as a list.
    classify_as_critical: Sequence[str] = Field(
        default=(), description="names of exception classes whose failure ends the run, unless a person corrects it"
    )
    classify_as_recoverable: Sequence[str] = Field(
        default=(),
        description="names of exception classes whose failure a person can correct; repeated if that is safe",
    )
    rules: tuple[Any, ...] = Field(default=(), description="rules of your own, as `[[rules]]` below")

    notify_on_critical_errors: bool = Field(
        default=True, description="whether the channels below report failures that end a run"
    )
    notification_channels: Sequence[Annotated[Channel, _one_of(*get_args(Channel))]] = Field(
        default=("terminal", "log"),
        description="the channels, of `terminal`, `log`, `bell`, `webhook`; `[notices]` sets them by severity",
    )
    webhook_url: str | None = Field(default=None, description="the address to which `webhook` posts")

    enable_error_routing: bool = Field(
        default=True, description="whether an operator may be asked; off: the safe default takes effect at once"
    )
    error_recovery_timeout: float | None = Field(
        default=None,
        gt=0,
        description="seconds after which an unanswered incident takes its safe default (deny, abort); never a grant",
    )

    auto_retry_on_rate_limits: bool = Field(
        default=True, description="whether the runtime waits for the end of a rate limit without asking"
    )
    max_rate_limit_retries: int = Field(default=3, ge=0, description="attempts after the first, for rate limits")
    max_attempts: int = Field(default=4, ge=1, description="attempts in total, for everything but rate limits")
    base_retry_delay: float = Field(
        default=1.0, gt=0, description="seconds of the first wait, doubled from attempt to attempt"
    )
    max_retry_delay: float = Field(default=60.0, gt=0, description="the cap of these waits, in seconds")
    max_hint_delay: float = Field(
        default=120.0,
        ge=0,
        description=("the longest wait, in seconds, that a server may ask for; for a longer one the step is parked"),
    )

    enable_circuit_breaker: bool = Field(
        default=True, description="whether calls are held back after failures in a row"
    )
    circuit_breaker_threshold: int = Field(default=5, ge=1, description="failures in a row that open a breaker")
    circuit_breaker_timeout: float = Field(
        default=60.0, ge=0, description="seconds after which an open breaker lets one call through as a test"
    )

    provider_settings: dict[str, ProviderErrorSettings] = Field(
        default_factory=dict, description="settings for one provider: see the next section"
    )

    @field_validator("classify_as_critical", "classify_as_recoverable")
    @classmethod
    def _are_class_names(cls, names: Sequence[str]) -> Sequence[str]:
        for name in names:
            if not all(part.isidentifier() for part in name.split(".")):
                raise ValueError(f"'{name}' must be the name of an exception class, for example 'RateLimitError'")
        return names

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> Self:
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

    def over(self, outer: Self) -> Self:
        """A copy of `outer` in which the settings of this one take precedence.

        Tables of providers are joined setting by setting, and rules by their id, these first. Where both together
        would contradict each other, `outer` gives way: a class that is listed here leaves the other list there; if
        the first wait would be above the cap of waits, the one that is not set here gets the value of the other.
        """
        update = {name: getattr(self, name) for name in self.model_fields_set if name not in WORKSPACE_FIELDS}
        if "provider_settings" in update:
            update["provider_settings"] = {**outer.provider_settings, **self._providers_over(outer)}
        if "rules" in update:
            update["rules"] = (*self.rules, *_rules_besides(outer.rules, self.rules))
        made = outer.model_copy(update=update)
        return made.model_copy(update=_without_contradiction(made, update))

    def _providers_over(self, outer: Self) -> dict[str, ProviderErrorSettings]:
        return {
            name: outer.provider(name).model_copy(update=each.model_dump(exclude_unset=True))
            for name, each in self.provider_settings.items()
        }


class InvalidErrorHandling(ConfigurationError, ValueError):
    """A mapping that cannot be an `ErrorHandlingConfig`: a ValueError, as what its constructor raises."""


def as_error_handling(value: object) -> ErrorHandlingConfig | None:
    """A configuration from itself, a mapping of its fields, or None for None.

    Args:
        value: The configuration, a mapping of its fields, or None.

    Returns:
        The configuration, checked.

    Raises:
        ConfigurationError: It is something else, or a field is unknown or has a value that it cannot have; in the
            second case it is a ValueError as well.
    """
    if value is None or isinstance(value, ErrorHandlingConfig):
        return value
    if not isinstance(value, Mapping):
        raise ConfigurationError(
            f"An error configuration must be an ErrorHandlingConfig, got {value!r}",
            hint="For example errors=ErrorHandlingConfig(max_attempts=2)",
            config_field="errors",
        )
    try:
        return ErrorHandlingConfig.model_validate(value)
    except ValidationError as exc:
        problems = "; ".join(map(_problem_text, exc.errors(include_url=False)))
        raise InvalidErrorHandling(
            f"The error configuration cannot be used: {problems}", config_field="errors"
        ) from exc


def _problem_text(error: ErrorDetails) -> str:
    """One mistake, and where it is, without pydantic's heading."""
    unknown = error["type"] == "unknown_field"
    place = ".".join(map(str, error["loc"][:-1] if unknown else error["loc"]))
    text = error["msg"].removeprefix("Value error, ")
    if text.startswith("Input should"):
        text = f"{text.removeprefix('Input ')}, got {error['input']!r}"
    return f"{place}: {text}" if place else text


WORKSPACE_FIELDS = frozenset({"notify_on_critical_errors", "notification_channels", "webhook_url"})
"""Who is told of incidents is the workspace's business: a swarm or a run that sets these changes nothing."""


def _rules_besides(outer: tuple[Any, ...], own: tuple[Any, ...]) -> list[Any]:
    """The rules of `outer` whose id none of `own` has."""
    taken = {_rule_id(rule) for rule in own}
    return [rule for rule in outer if _rule_id(rule) not in taken]


def _rule_id(rule: Any) -> str:
    return str(rule.get("id", "") if isinstance(rule, Mapping) else rule.id)


def _without_contradiction(made: ErrorHandlingConfig, said: Mapping[str, Any]) -> dict[str, Any]:
    """What gives way to the fields in `said`."""
    found: dict[str, Any] = {}
    for name, other in _OPPOSITES:
        if name in said and other not in said:
            found[other] = tuple(each for each in getattr(made, other) if each not in getattr(made, name))
    if made.max_retry_delay < made.base_retry_delay:
        if "max_retry_delay" in said:
            found["base_retry_delay"] = made.max_retry_delay
        else:
            found["max_retry_delay"] = made.base_retry_delay
    return found


_OPPOSITES = (
    ("classify_as_critical", "classify_as_recoverable"),
    ("classify_as_recoverable", "classify_as_critical"),
)
