"""Replay: what an earlier life recorded under a path, compared with what is requested now.

No result ever reaches another node: a recorded step that differs in kind, name, agent or requested arguments is not
handed back; the run parks with the difference shown (DESIGN section 2, rule 7).
"""

from __future__ import annotations

import json
from typing import Any

from orbiter.errors import OrbiterError
from orbiter.steps import Step
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.rewind import place_of

_SHOWN_CHARS = 160


class RunChanged(OrbiterError):
    """The swarm has another shape than when this run began: what is recorded cannot be handed to it."""


def displaced_sibling(state: DurableRun, parent_id: str, node_id: str) -> str:
    """The recorded sibling that stands in the place where `node_id` now wants to be; empty if the place is free."""
    siblings = state.nodes[parent_id].children if parent_id in state.nodes else state.roots
    for sibling in siblings:
        if sibling != node_id and place_of(sibling) == place_of(node_id) and not state.nodes[sibling].is_step:
            return sibling
    return ""


def replay_difference(node: Node, step: Step[Any, Any], requested: dict[str, Any]) -> str:
    """In what the step differs from its record, in words; empty if in nothing."""
    found = [
        f"{what}: recorded {was!r}, now {now!r}"
        for what, was, now in (
            ("kind", node.kind, step.kind),
            ("name", node.name, step.name),
            ("agent", node.agent, step.agent),
        )
        if was != now
    ]
    was, now = _plain(node.requested), _plain(requested)
    found.extend(
        f"{key}: recorded {_shorten(was.get(key))}, now {_shorten(now.get(key))}"
        for key in sorted(was.keys() | now.keys())
        if was.get(key) != now.get(key)
    )
    return "; ".join(found)


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    # As JSON on both sides: a tuple of today is a list of yesterday's record.
    plain: dict[str, Any] = json.loads(json.dumps(value, default=str))
    return plain


def _shorten(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}… ({len(text)} characters)"
