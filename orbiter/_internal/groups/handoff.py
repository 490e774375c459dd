"""Handoff mode: an agent whose output is the name of one of its handoffs hands the conversation over."""

from __future__ import annotations

from itertools import count

from orbiter._internal.groups.members import MemberContext, RunTotals, conversation, run_member
from orbiter._internal.groups.partial_results import attach_partial_result
from orbiter._internal.loop.tool_calls import explain_handoff
from orbiter.errors import HandoffLimitError
from orbiter.steps import HandedBack, Place
from orbiter.swarm import Swarm
from orbiter.types import RunResult


async def run_handoff(swarm: Swarm, input: str, context: MemberContext) -> RunResult:
    """Run the first agent, and each to which the conversation is handed over.

    Raises:
        HandoffLimitError: More than `max_handoffs` transitions.
    """
    totals = RunTotals()

    def peer(name: str) -> str | None:
        return explain_handoff(name) if name in swarm.agents else None

    context = context._replace(peers=peer, fallbacks=swarm.recovery.agents)
    name, text = swarm.flow_order[0], input
    for hop in count():
        agent = swarm.agents[name]
        targets = [target for target in getattr(agent, "handoffs", ()) if target in swarm.agents]
        try:
            result = await run_member(agent, text, Place(hop), context)
        except HandedBack as back:
            if back.scope != context.scope.node_id:
                raise
            # The router reads the work so far as history, and why it came back as what is said to it now.
            name, text = back.to, back.reason
            continue
        totals.add(name, result)
        target = result.output.strip()
        if target not in targets:
            break
        if hop >= swarm.max_handoffs:
            error = HandoffLimitError(
                f"Max handoffs ({swarm.max_handoffs}) exceeded in swarm",
                max_handoffs=swarm.max_handoffs,
                context={"from": name, "to": target},
                suggestion="Raise max_handoffs, or tell the agents when to stop handing over.",
            )
            attach_partial_result(error, totals.apply_to(result).model_copy(update={"agent": swarm.name}))
            raise error
        name, text, context = target, target, context._replace(messages=conversation(result))
    return totals.apply_to(result)
