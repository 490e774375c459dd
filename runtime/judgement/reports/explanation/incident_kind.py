"""What an incident is: a failure, or a question that nothing failed for. Loads nothing, so that lists may use it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from runtime.record.state.events import IncidentOpened

Kind = Literal["failure", "question", "permission", "breakpoint", "in doubt", "no progress"]
"""What an incident is. Only `failure` is an error; `in doubt` is a call that may have taken effect."""


def incident_kind(opened: IncidentOpened) -> Kind:
    """What an incident is, by what it asks for and the rule that opened it."""
    if opened.action.get("permission"):
        return "permission"
    if opened.fault.rule_id == "breakpoint":
        return "breakpoint"
    if opened.fault.rule_id == "stall.no-progress":
        return "no progress"
    if opened.question:
        return "question"
    return "in doubt" if may_have_happened(opened) else "failure"


def may_have_happened(opened: IncidentOpened) -> bool:
    """Whether a tool's call may have taken effect, so that doing it again may do it twice."""
    return opened.in_doubt or ("tool" in opened.action and opened.fault.effect in ("unknown", "applied"))
