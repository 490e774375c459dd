"""One run of an agent in one life: its node, and what is known of it while it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field

from pydantic_ai.tools import DeferredToolRequests

from orbiter.guests.current_life import CurrentLife
from orbiter.guests.places import CallPlaces
from orbiter.steps import Scope


@dataclass(slots=True, eq=False, kw_only=True)
class Life(CallPlaces):
    """What is known of one run of an agent while it goes on.

    `sent` is how many messages the latest model request had. `approved` are the calls that need an operator's
    permission before they are made. `deferred` are the calls that wait for an answer from outside.
    """

    scope: Scope
    agent: str
    sent: int = 0
    approved: set[str] = field(default_factory=set)
    deferred: DeferredToolRequests | None = None


_CURRENT: CurrentLife[Life] = CurrentLife("pydantic_ai")
current_life, entered = _CURRENT.get, _CURRENT.entered
