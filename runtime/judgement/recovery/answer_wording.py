"""The very words that an answer is an answer to. Lists show such words first: it loads no event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.judgement.recovery.option_table import effect_of

if TYPE_CHECKING:
    from runtime.record.state.incident_events import IncidentOpened


def wording_of(asked: IncidentOpened, option_id: str) -> str:
    """The very words that this answer is an answer to; empty where it is one to every incident that is the same.

    A fingerprint leaves out paths, names and numbers: to permit one file is not to permit every other. And a
    permission that names no object (`shell`) says nothing of what is to be done: there the call itself counts.
    """
    effect = effect_of(option_id)
    if effect == "input":
        return asked.question
    if effect != "grant":
        return ""
    need, action = str(asked.action.get("permission", "")), asked.action
    if not need or ":" in need:
        return need
    import json  # not for a list, which says it of proposals alone

    arguments = json.dumps(action.get("arguments", {}), ensure_ascii=False, sort_keys=True, default=str)
    return f"{need}: {action.get('tool', '')} {arguments}"
