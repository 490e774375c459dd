"""The taxonomy of faults: origin, cause, persistence, effect, impact; and remedies, kept apart.

The four vocabularies of the seeds (000 errors, 002 severities, 003 `recoverable`, 004 policies) each mix axes.
Here every axis is a closed enumeration of its own (`incident_facts`), and `Classification` holds one value of each.
It is a fact: once recorded it does not change. What is done about it, a `Remedy`, is decided later, from configuration
and history. A classification is JSON as it stands.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from runtime.record.state.incident_facts import Cause, Effect, Impact, Limit, Origin, Persistence, Remedy, Severity

__all__ = ["Cause", "Classification", "Effect", "Impact", "Limit", "Origin", "Persistence", "Remedy", "Severity"]


class Classification(BaseModel):
    """The facts of one fault.

    `retry_after_s` is the server's hint in seconds from the moment of classification, `hint_source` where it was
    read ("retry-after header", "message"). `proposal` is a remedy that the author of the code asked for
    (`classify_error` of seed 002: replan, reroute); deciding whether it is taken is not this model's business.
    `recoverable` is what was said where the error was raised (seed 003); None: nothing was.
    `technical` may quote a provider; secrets in it are already masked. `metadata` is the author's, as JSON; `context`
    is what the error itself carried (``limit``, ``used``), masked. Where an author's words stand in `user_message`,
    `rule_message` has the sentence of the rules.
    """

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=True)

    origin: Origin
    cause: Cause
    persistence: Persistence
    effect: Effect = Effect.UNKNOWN
    impact: Impact = Impact.NODE
    exhausted: bool = False
    retry_after_s: Annotated[float, Field(ge=0)] | None = None
    hint_source: str = ""
    provider: str = ""
    http_status: int | None = None
    code: str = ""
    exception: str = ""
    node_path: tuple[str, ...] = ()
    limit: Limit | None = None
    proposal: Remedy | None = None
    recoverable: bool | None = None
    user_message: str = ""
    rule_message: str = ""
    technical: str = ""
    suggestions: tuple[str, ...] = ()
    rule_id: str = ""
    metadata: dict[str, JsonValue] = Field(default_factory=dict)
    context: dict[str, JsonValue] = Field(default_factory=dict)

    @property
    def author_message(self) -> str:
        """The words of the author's `classify_error`; empty where it said none."""
        return self.user_message if self.rule_message else ""

    @property
    def severity(self) -> Severity:
        """How loudly it is shown: by impact; what was absorbed is a warning unless no act is needed (telemetry)."""
        if self.impact is Impact.ABSORBED:
            return Severity.INFO if self.origin is Origin.TELEMETRY else Severity.WARNING
        return _SEVERITY[self.impact]

    @property
    def repeatable(self) -> bool:
        """Whether it may be repeated without asking anybody: transient, and the failed call changed nothing."""
        return self.persistence is Persistence.TRANSIENT and self.safe_to_repeat

    @property
    def safe_to_repeat(self) -> bool:
        """Whether repeating all of the step does no harm, as far as is known.

        A tool that could not connect, or whose call a service refused for a rate limit, did nothing by that call; what
        its code did before that call is not known, so a person, its author (`idempotent=True`, RETRIABLE) or the agent
        decides whether it runs again.
        """
        unsent = self.effect is Effect.NOT_ATTEMPTED and self.cause in _NOTHING_DONE_BY_THIS_CALL
        if unsent and self.origin in (Origin.TOOL, Origin.HOOK) and self.proposal is not Remedy.RETRY:
            return False
        return self.effect in (Effect.NOT_ATTEMPTED, Effect.NONE)


_NOTHING_DONE_BY_THIS_CALL = frozenset({Cause.NETWORK, Cause.TIMEOUT, Cause.RATE_LIMITED, Cause.QUOTA_EXHAUSTED})

_SEVERITY = {Impact.NODE: Severity.ERROR, Impact.RUN: Severity.CRITICAL, Impact.PROCESS: Severity.FATAL}
