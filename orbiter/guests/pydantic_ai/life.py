"""One run of an agent in one life: its node, and what is known of it while it goes on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.models import Model
from pydantic_ai.tools import DeferredToolRequests

from orbiter.guests.current_life import CurrentLife
from orbiter.guests.handled_failures import HandledCall
from orbiter.guests.places import CallPlaces
from orbiter.steps import Scope


@dataclass(slots=True, eq=False, kw_only=True)
class Life(CallPlaces):
    """What is known of one run of an agent while it goes on.

    `sent` is how many messages the latest model request had. `approved` are the calls that need an operator's
    permission before they are made. `deferred` are the calls that wait for an answer from outside.

    `models` are those that code of the agent's own gave, by the names that they have here.

    `request` is the request to a model that is under way, where code of the agent's own is told of its failure, and
    `new_from` the index from which its conversation is new. `failed` is the one out of which an exception came, with
    the turn at which it began. `settled` has the outcomes that were decided of such requests, by that turn.
    """

    scope: Scope
    agent: str
    sent: int = 0
    approved: set[str] = field(default_factory=set)
    deferred: DeferredToolRequests | None = None
    models: dict[str, Model] = field(default_factory=dict)
    request: HandledCall | None = None
    new_from: int = 0
    failed: tuple[int, HandledCall] | None = None
    settled: dict[int, Any] = field(default_factory=dict)

    def name_model(self, model: Model) -> str:
        """The name of a model that was not registered: its own, numbered where another one has it."""
        known = next((name for name, each in self.models.items() if each is model), None)
        if known is None:
            same = sum(each.model_id == model.model_id for each in self.models.values())
            known = f"{model.model_id} {same + 1}" if same else model.model_id
            self.models[known] = model
        return known


_CURRENT: CurrentLife[Life] = CurrentLife("pydantic_ai")
current_life, entered = _CURRENT.get, _CURRENT.entered
