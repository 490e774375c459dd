"""One run of a graph in one life: its node, and where its next step stands.

A fine run is done again from its start in every life. Its places come from the recorded replies: the number of the
model's turn, and the position of a call's id in the reply that asks for it. A coarse run goes on from its last
checkpoint. Its places come from the number of that checkpoint and from LangGraph's own names for tasks and interrupts,
which are kept with it. The order in which calls begin or end plays no part.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AnyMessage

from orbiter.guests.current_life import CurrentLife
from orbiter.guests.langgraph.task_steps import TaskSteps
from orbiter.guests.places import CallPlaces
from orbiter.steps import Scope

_ORDINALS = 1_000_000
"""Among so many places the tasks and interrupts of one superstep are spread."""


@dataclass(slots=True, eq=False, kw_only=True)
class Life(CallPlaces):
    """What is known of one run of a graph while it goes on.

    `fine`: each call is a step. `models` may be chosen by name. `sent` is how many messages the latest model request
    had, and `new_from` the index from which its conversation is new. `told` is what an operator said and no model has
    replied to yet. `thread` is LangGraph's name for the run. `checkpoints` has the number of each recorded checkpoint,
    by its id; `recording` those that this life records. `tasks`: on which steps the tasks of a coarse run rest.
    """

    scope: Scope
    agent: str
    fine: bool
    loop: asyncio.AbstractEventLoop
    models: Mapping[str, Any] = field(default_factory=dict)
    sent: int = 0
    new_from: int = 0
    told: list[AnyMessage] = field(default_factory=list)
    thread: str = ""
    checkpoints: dict[str, int] = field(default_factory=dict)
    recording: dict[str, asyncio.Event] = field(default_factory=dict)
    tasks: TaskSteps = field(default_factory=TaskSteps)
    _attempts: dict[int, object] = field(default_factory=dict)

    def visit_in_attempt(self, attempt: object, *key: object) -> int:
        """How often this was asked before with the same key in one attempt of a node: one that runs again, in the same
        life, does again what it did.
        """
        self._attempts[id(attempt)] = attempt
        return self.visit(id(attempt), *key)

    def within(self, scope: Scope) -> Life:
        """The life of an agent that a call runs, as a node below it."""
        return Life(scope=scope, agent=self.agent, fine=self.fine, loop=self.loop, models=self.models)


def ordinal(identity: str) -> int:
    """A number for one of LangGraph's hexadecimal ids, the same in every life of a coarse run."""
    return int(identity.replace("-", "")[:8] or "0", 16) % _ORDINALS


_CURRENT: CurrentLife[Life] = CurrentLife("langgraph")
current_life, entered = _CURRENT.get, _CURRENT.entered
