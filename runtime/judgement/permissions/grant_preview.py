"""The preview of a grant: which past and pending actions it would cover.

A fold of recorded runs. Paths are made real as they lie now, as they will be when the grant is used.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from runtime.judgement.permissions.canonical import PermissionSyntaxError
from runtime.judgement.permissions.patterns import STANDARD_VERBS, Verbs
from runtime.judgement.permissions.permission import Need, covers, needs_of
from runtime.judgement.permissions.permitted_action import CoveredActions, PermittedAction
from runtime.record.state.durable_run import DurableRun, Node
from runtime.record.state.events import GrantAdded


def permitted_actions(state: DurableRun, *, root: str, verbs: Verbs = STANDARD_VERBS) -> Iterator[PermittedAction]:
    """The actions of a run that needed permissions, in the order in which they began."""
    for node in state.nodes.values():
        for agent, need in _step_needs(state, node, root, verbs):
            yield PermittedAction(
                run_id=state.id,
                node_id=node.id,
                agent=agent,
                need=str(need),
                state=node.phase,
                pending=not node.terminal and not state.terminal,
                at=node.opened_at,
            )


def preview_grant(
    grant: GrantAdded, states: Iterable[DurableRun], *, root: str, verbs: Verbs = STANDARD_VERBS
) -> CoveredActions:
    """The actions in `states` that `grant` covers. Its date does not matter: it says what the words mean."""
    found = [
        action
        for state in states
        for action in permitted_actions(state, root=root, verbs=verbs)
        if covers(grant, _read(action.need), agent=action.agent, run_id=state.id, ref=state.ref, verbs=verbs)
    ]
    found.sort(key=lambda action: action.at.timestamp() if action.at is not None else 0.0)
    return CoveredActions(
        past=tuple(action for action in found if not action.pending),
        pending=tuple(action for action in found if action.pending),
    )


def _step_needs(state: DurableRun, node: Node, root: str, verbs: Verbs) -> Iterator[tuple[str, Need]]:
    if node.is_step and node.permissions:
        arguments = (node.effective or {}).get("arguments") or node.requested.get("arguments") or {}
        try:
            yield from ((node.agent, need) for need in needs_of(node.permissions, arguments, root=root, verbs=verbs))
        except PermissionSyntaxError:
            # The call left out what the permission names: what was asked about stands in its incident, if one was.
            yield from _asked_needs(state, node)
    elif not node.is_step:
        yield from _asked_needs(state, node)


def _asked_needs(state: DurableRun, node: Node) -> Iterator[tuple[str, Need]]:
    for incident_id in node.incidents:
        action = state.incidents[incident_id].opened.action
        if action.get("permission"):
            yield str(action.get("agent") or node.agent), _read(str(action["permission"]))


def _read(text: str) -> Need:
    verb, _, target = text.partition(":")
    return Need(verb, target)
