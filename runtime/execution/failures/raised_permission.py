"""Permission errors that code raises: an operator is asked to grant what they name.

A call that named its permission is done again after the grant, from its start. So the code that raises it says that
nothing has been done yet, as the author does who says RETRIABLE (DESIGN section 5). Code that raises it though it is
granted has failed in the ordinary way: the question would go round in a circle.
"""

from __future__ import annotations

from dataclasses import replace

import msgspec

from runtime.execution.gates.permission import GRANT_ADVICE, grantable_need
from runtime.execution.incidents import IncidentDraft
from runtime.execution.run_session import RunSession
from runtime.record.state.fault_taxonomy import Cause, Classification, Effect, Persistence


async def ask_for_grant(session: RunSession, node_id: str, exc: Exception, draft: IncidentDraft) -> IncidentDraft:
    """`draft`, of a node that failed outside of its steps, as a request where the failure names a permission that may
    be granted.
    """
    agent = next((each.name for each in reversed(session.state.lineage(node_id)) if each.kind == "agent"), "")
    need = await grantable_need(session, node_id, agent, exc)
    if need is None:
        return draft
    action = {**(draft.action or {}), **({"agent": agent} if agent else {}), "permission": str(need)}
    return replace(draft, fault=as_request(draft.fault), need=str(need), action=action)


def as_request(fault: Classification) -> Classification:
    """The fault of code that raised for a permission that may be granted, as a request for it."""
    return msgspec.structs.replace(
        fault,
        cause=Cause.PERMISSION_DENIED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        suggestions=(*fault.suggestions, GRANT_ADVICE),
    )
