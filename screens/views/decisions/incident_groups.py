"""Groups of equal incidents on one line: "17 alike". What makes two the same is their fingerprint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from runtime.judgement.reports.priority import likeness

if TYPE_CHECKING:
    from runtime.record.state.events import IncidentOpened

GROUP_KEY_PREFIX = "group:"
"""What the key of a group's line begins with."""


class OpenDecision(Protocol):
    """An open incident and the run that it belongs to: `runtime.record.inbox_row.InboxRow` is such."""

    @property
    def run_id(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def opened(self) -> IncidentOpened:
        """The incident."""
        ...

    @property
    def proposed(self) -> str: ...

    @property
    def proposed_by(self) -> str: ...


def group_key(found: OpenDecision, host: str = "") -> str:
    """The key of the group that a decision belongs to: those of one host that are the same."""
    return f"{GROUP_KEY_PREFIX}{host}:{likeness(found)}"


def group_decisions(
    waiting: Sequence[OpenDecision], host_of: Callable[[str], str] = lambda _run_id: ""
) -> Mapping[str, list[OpenDecision]]:
    """Decisions by group, groups in the order of their first one."""
    groups: dict[str, list[OpenDecision]] = {}
    for found in waiting:
        groups.setdefault(group_key(found, host_of(found.run_id)), []).append(found)
    return groups


def group_members(
    key: str, waiting: Iterable[OpenDecision], host_of: Callable[[str], str] = lambda _run_id: ""
) -> list[OpenDecision]:
    """The decisions of a group, the oldest first; also those like one decision, whose key begins with `incident:`."""
    waiting = list(waiting)
    if not key.startswith(GROUP_KEY_PREFIX):
        name = key.partition(":")[2]
        one = next((found for found in waiting if found.opened.incident_id == name), None)
        if one is None:
            return []
        key = group_key(one, host_of(one.run_id))
    found = [each for each in waiting if group_key(each, host_of(each.run_id)) == key]
    return sorted(found, key=lambda each: (each.opened.ts, each.opened.incident_id))
