"""The chain of gates before every attempt: freeze, breakpoint, MCP server, permission, budget, breaker.

Each gate is given what it needs of the step, not the step itself.
"""

from __future__ import annotations

import asyncio

from runtime.execution.gates.blocked import Blocked
from runtime.execution.gates.breakpoint import breakpoint_fault
from runtime.execution.gates.budget import check_budget
from runtime.execution.gates.mcp_server import check_server
from runtime.execution.gates.permission import check_permission
from runtime.execution.step_execution import StepExecution
from runtime.judgement.reports.prices import load_prices


async def check_gates(execution: StepExecution) -> Blocked | None:
    """What is in the way of the step's next attempt, by the first gate that stops it; None: it may begin.

    The order is DESIGN's: freeze (which waits), breakpoint, permission, budget, breaker. An MCP server's approval comes
    before its permission. The packaged prices are read on a thread, where the model needs them.
    """
    session, step, node_id = execution.session, execution.step, execution.node_id
    await session.tracker.wait_until_thawed(execution.activity)
    if step.kind == "tool" and execution.state.breakpoints:
        stop = breakpoint_fault(session, node_id, "tool", step.name)
        if stop is not None:
            return Blocked(stop)
    if step.traits.server and (found := await check_server(session, step.agent, step.traits.server)) is not None:
        return found
    if step.traits.permissions:
        found = await check_permission(session, node_id, step, execution.tool_arguments)
        if found is not None:
            return found
    if (model := execution.model) and session.config.prices.needs_package(model):
        await asyncio.to_thread(load_prices)
    if (found := check_step_budget(execution)) is not None:
        return found
    return await execution.breaker.admit()


def check_step_budget(execution: StepExecution) -> Blocked | None:
    """The budget gate, without waiting for anything."""
    begun = execution.attempts > 0
    return check_budget(execution.session, execution.parent_id, execution.step, execution.model, begun=begun)
