"""On which steps the writes of a coarse run's tasks rest: those that no longer stand make the task run again.

A rewind or a fork drops a step and what is later, and leaves what ran side by side with it. Beside an answer or a call
of a durable function stand the writes of the very task that used it. So each record of writes names the steps on which
it rests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from langgraph.types import Interrupt

from orbiter.guests.langgraph.packed_values import digest
from orbiter.steps import Place, Scope

Used = list[Any]
"""A step: its name, the two numbers of its place, and a digest of what it gave."""


@dataclass(slots=True, eq=False)
class TaskSteps:
    """The steps that each task used, by the task's id, and what is known of each interrupt, by its id.

    `outdated`: tasks of which an earlier life recorded writes that rest on a step that is gone, or gave something else
    since.
    """

    outdated: set[str] = field(default_factory=set)
    _used: dict[str, dict[tuple[str, Place], None]] = field(default_factory=dict)
    _questions: dict[str, tuple[int, set[str]]] = field(default_factory=dict)

    def use(self, namespace: str, name: str, place: Place, *tasks: str) -> None:
        """Note that a step was used: by these tasks, and by those in whose namespace it happened."""
        for task in {*tasks, *_tasks_of(namespace)}:
            self._used.setdefault(task, {})[name, place] = None

    def took(self, task: str, steps: Sequence[Used]) -> None:
        """Take up what a record says of a task."""
        for name, seq, par, _ in steps:
            self._used.setdefault(task, {})[name, Place(seq, par)] = None

    def rests_on(self, scope: Scope, task: str) -> list[Used]:
        """The steps on which the task's writes rest. What is later than another one would be dropped with it: the
        latest are enough.
        """
        used = self._used.get(task, {})
        latest = max((place.seq for _, place in used), default=0)
        return [
            [name, place.seq, place.par, _digest(scope, name, place)] for name, place in used if place.seq == latest
        ]

    def asked(self, namespace: str, task: str, number: int, interrupts: Any) -> None:
        """Note who asks: the task, those around it, and the number of the checkpoint at which it was first recorded."""
        listed = interrupts if isinstance(interrupts, Sequence) else ()
        for each in (one for one in listed if isinstance(one, Interrupt)):
            _, tasks = self._questions.setdefault(each.id, (number, set()))
            tasks.update({task, *_tasks_of(namespace)})

    def asked_at(self, interrupt_id: str) -> int | None:
        """The number of the checkpoint at which an interrupt was first recorded."""
        found = self._questions.get(interrupt_id)
        return found[0] if found is not None else None

    def answered(self, interrupt_id: str, name: str, place: Place) -> None:
        """Note that a step gave an answer, or a part of it: the tasks that ask rest on it."""
        if (found := self._questions.get(interrupt_id)) is not None:
            self.use("", name, place, *found[1])


def stands(scope: Scope, steps: Sequence[Used]) -> bool:
    """Whether each of the steps is recorded, with what it gave then."""
    return all(_digest(scope, name, Place(seq, par)) == found for name, seq, par, found in steps)


def _digest(scope: Scope, name: str, place: Place) -> str:
    return digest(scope.recorded(name, place))


def _tasks_of(namespace: str) -> list[str]:
    """The ids of the tasks that a namespace of LangGraph names, from the outermost to the innermost."""
    return [part.rpartition(":")[2] for part in namespace.split("|") if ":" in part]
