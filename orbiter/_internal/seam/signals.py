"""What an operator or a runtime decided, as framework code gets to know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HELD_BACK = "circuit_open"
"""The `error_code` of the error that stands for a call which an open circuit breaker held back."""


@dataclass(slots=True, frozen=True)
class Answer:
    """What came back for a fault. `retry`: do it again. `input`: go on with `value`. The caller refuses others.

    Attributes:
        option: The option's id.
        value: What the operator gave with it.
    """

    option: str
    value: Any = None


class Skipped(BaseException):
    """An operator let a node be skipped; `value` stands for its output. For that node's framework code to catch.

    Args:
        value: What stands for the node's output.
    """

    def __init__(self, value: Any = "") -> None:
        super().__init__("skipped by an operator")
        self.value = value


class Aborted(Exception):
    """An operator ended this branch. Passes through faults undisturbed: it has been decided already."""


class HandedBack(Aborted):
    """A runtime gives a failure back to the swarm, instead of asking a person. Decided already, as `Aborted` is.

    `remedy` is what is wanted: ``replan`` and ``reroute`` (the agent `to` goes on, with `reason`), ``stand_in`` (the
    next of the agents that stand in), ``go_on`` (past the failed agent), ``degrade`` (the agent ends with what it has).
    `scope` is the id of the node whose code takes it up; others let it pass.

    Args:
        reason: Why, for the agent that goes on.
        remedy: ``replan``, ``reroute``, ``stand_in``, ``go_on`` or ``degrade``.
        scope: The id of the node whose code takes it up.
        to: The agent that goes on; empty where `remedy` names none.
    """

    def __init__(self, reason: str, *, remedy: str = "", scope: str = "", to: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy
        self.scope = scope
        self.to = to
