"""How much more of a limit to propose where one is used up. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import median
from typing import Any, Final, NamedTuple

from runtime.judgement.amounts import format_cost_limit
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.events import IncidentOpened

_COUNTED: Final[Mapping[str, tuple[str, ...]]] = {
    "max_steps": ("llm", "tool"),
    "max_tool_calls": ("tool",),
    "max_llm_calls": ("llm",),
}
"""Limits that count steps, with the kinds of steps that they count."""


def proposed_extension(opened: IncidentOpened, state: DurableRun) -> float | None:
    """How much more to propose: what the members that are left will need (`MembersLeft.needs`), else half as much.

    Args:
        opened: the incident.
        state: its run.

    Returns:
        The amount to add, in the unit of the limit; None where the incident is about no budget.
    """
    about = opened.action.get("budget")
    allowed = _number(about.get("allowed")) if isinstance(about, Mapping) else None
    if not isinstance(about, Mapping) or allowed is None:
        return None
    limit = str(about.get("limit") or "")
    used = _number(about.get("used")) or 0.0
    if limit in _COUNTED:
        found = members_left(state, str(about.get("scope") or ""), limit)
        return found.needs if found is not None else max(1, math.ceil(allowed / 2))
    half = max(allowed, used) / 2 or 1.0
    return float(math.ceil(half)) if limit == "max_total_tokens" else _rounded(half)


def counted_kinds(limit: object) -> tuple[str, ...]:
    """The kinds of steps whose attempts a limit counts; of one that counts none those that cost something."""
    return _COUNTED.get(str(limit), ("llm", "tool"))


def quantity_words(limit: object, value: object) -> str:
    """An amount of a limit with its unit; empty where it is not known."""
    number = _number(value)
    if number is None:
        return ""
    if limit == "max_total_cost_usd":
        return format_cost_limit(number)
    if limit == "max_wall_time_s":
        return f"{number:.0f}s" if number >= 10 else f"{number:.2g}s"
    return f"{number:.0f}"


def _number(value: object) -> float | None:
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e15
    return float(value) if known and isinstance(value, int | float) else None


def _rounded(value: float) -> float:
    """Two digits that count: 0.0333 is 0.034."""
    digits = 1 - math.floor(math.log10(value))
    return math.ceil(value * 10**digits - 1e-9) / 10**digits if digits > 0 else float(math.ceil(value))


class MembersLeft(NamedTuple):
    """Members of a workflow that are not done.

    Attributes:
        to_come: those that have not begun.
        at_work: those that have begun, each with what it has used.
        each: what a member that is done has used, in the middle.
    """

    to_come: tuple[str, ...]
    at_work: tuple[tuple[str, int], ...]
    each: int

    @property
    def needs(self) -> int:
        """What they will need: each as much as those that are done."""
        return len(self.to_come) * self.each + sum(self.more_for(used) for _, used in self.at_work)

    def more_for(self, used: int) -> int:
        """What one at work will need: what is missing to what the others used; from there on as much again."""
        return self.each - used if used < self.each else used


def members_left(state: DurableRun, scope: str, limit: str) -> MembersLeft | None:
    """The members of a workflow that are not done; None where that cannot be told, or no member is left."""
    if limit not in _COUNTED:
        return None
    top = state.nodes.get(scope or (state.roots[0] if state.roots else ""))
    if top is None or top.info.get("mode", "workflow") != "workflow":
        return None
    members = dict.fromkeys(str(each) for each in top.info.get("members", ()))
    agents = {node.name: node for _, node in state.walk(top.id) if node.name in members}
    done = [_calls_below(state, node, limit) for node in agents.values() if node.terminal]
    at_work = tuple((name, _calls_below(state, node, limit)) for name, node in agents.items() if not node.terminal)
    to_come = tuple(name for name in members if name not in agents)
    if not done or not (at_work or to_come):
        return None
    return MembersLeft(to_come, at_work, max(1, math.ceil(median(done))))


def _calls_below(state: DurableRun, top: Node, limit: str) -> int:
    kinds: Any = _COUNTED[limit]
    begun = (node for _, node in state.walk(top.id) if node.attempts > 0 and node.phase != "waiting")
    return sum(node.kind in kinds for node in begun)
