"""The chain of gates before every attempt: freeze, breakpoint, MCP server, permission, budget, breaker.

Each gate is given what it needs of the step, not the step itself.
"""

from __future__ import annotations

import asyncio

from orbiter.steps import NO_TRAITS
from runtime.execution.gates.blocked import Blocked
from runtime.execution.gates.breaker import NO_BREAKER
from runtime.execution.gates.breakpoint import breakpoint_fault
from runtime.execution.gates.budget import check_budget
from runtime.execution.gates.mcp_server import check_server
from runtime.execution.gates.permission import check_permission
from runtime.execution.step_execution import StepExecution
from runtime.judgement.reports.prices import load_prices


async def check_gates(execution: StepExecution) -> Blocked | None:
    """What is in the way of the step's next attempt, by the first gate that stops it; None: it may begin at once.

    The order is DESIGN's: freeze (which waits), breakpoint, permission, budget, breaker. An MCP server's approval comes
    before its permission. The packaged prices are read on a thread, where the model needs them.

    Raises:
        CancelledError: the run ends meanwhile.
    """
    session, step, node_id = execution.session, execution.step, execution.node_id
    parent_id, model, begun = execution.parent_id, execution.model, execution.attempts > 0
    while True:
        await session.tracker.wait_until_thawed(execution.activity)
        if step.kind == "tool" and execution.state.breakpoints:
            stop = breakpoint_fault(session, node_id, "tool", step.name)
            if stop is not None:
                return Blocked(stop)
        traits = NO_TRAITS if execution.refused else step.traits
        if traits.server and (found := await check_server(session, step.agent, traits.server)) is not None:
            return found
        if traits.permissions:
            found = await check_permission(session, node_id, step, execution.tool_arguments)
            if found is not None:
                return found
        if model and session.config.prices.needs_package(model):
            await asyncio.to_thread(load_prices)
        spent = check_budget(session, parent_id, step, model, begun=begun)
        key = execution.breaker_key
        breaker = execution.breaker if key and not session.breakers.is_closed_now(key) else NO_BREAKER
        if spent is None and breaker is not NO_BREAKER:
            if (found := await breaker.admit()) is not None:
                return found
            # Once more, with nothing awaited after it: steps that begin side by side must not overshoot together.
            spent = check_budget(session, parent_id, step, model, begun=begun)
        # A freeze that came while the gates were asked holds.
        if spent is None and not session.ending and not session.tracker.is_frozen:
            return None
        await execution.breaker.release_probe()
        if session.ending:
            # Everything is being cancelled; in tasks within tasks, an answer can arrive before the cancellation.
            raise asyncio.CancelledError
        if spent is not None:
            return spent
