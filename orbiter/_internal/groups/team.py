"""Team mode: the first agent leads, and reaches the others by delegate tools."""

from __future__ import annotations

from orbiter._internal.groups.delegate_tool import _DelegateTool
from orbiter._internal.groups.members import MemberContext, RunTotals, is_container, run_member
from orbiter._internal.loop.tool_calls import explain_delegation
from orbiter.errors import SwarmError
from orbiter.policy import JoinPolicy
from orbiter.steps import Place
from orbiter.swarm import Swarm
from orbiter.types import RunResult


async def run_team(swarm: Swarm, input: str, context: MemberContext) -> RunResult:
    """Run the lead with one delegate tool for each worker.

    Raises:
        SwarmError: There are no workers, or the lead is not an agent.
        JoinError: The team's join policy is violated.
    """
    if len(swarm.flow_order) < 2:
        raise SwarmError("Team mode requires at least two agents (lead + workers)")
    lead, *workers = (swarm.agents[name] for name in swarm.flow_order)
    if is_container(lead):
        raise SwarmError(
            f"Team mode requires an agent as its lead, and '{lead.name}' is a {type(lead).__name__}",
            suggestion="Put an agent first.",
        )
    totals = RunTotals()
    failed: dict[str, str] = {}
    tools = [
        _DelegateTool(
            worker=worker,
            provider=context.settings.provider,
            max_retries=context.settings.max_retries,
            loop_threshold=context.settings.loop_threshold,
            totals=totals,
            failed=failed,
            taken=getattr(lead, "tools", ()),
            fallbacks=swarm.recovery.agents,
            policy=swarm.agent_policy,
        )
        for worker in workers
    ]

    def peer(name: str) -> str | None:
        return explain_delegation(name) if name in swarm.flow_order[1:] else None

    delegates = {tool.name: tool for tool in tools}
    context = context._replace(delegates=delegates, peers=peer, fallbacks=swarm.recovery.agents)
    result = await run_member(lead, input, Place(0), context)
    _check_join(swarm.join, [worker.name for worker in workers], totals, failed, f"Team '{swarm.name}'")
    totals.add(lead.name, result)
    return totals.apply_to(result)


def _check_join(join: JoinPolicy, workers: list[str], totals: RunTotals, failed: dict[str, str], place: str) -> None:
    """Hold what the lead delegated against the team's join policy. The default leaves it to the lead, who was told.

    Raises:
        JoinError: The policy is violated by the workers that were asked.
    """
    if join.kind == "all_required":
        return
    succeeded = [name for name in workers if name in totals.outputs and name not in failed]
    asked = [name for name in workers if name in totals.outputs or name in failed]
    verdict = join.verdict(asked if join.kind == "allow_optional_failures" else workers, succeeded, list(failed))
    if asked and verdict in ("violated", "pending") and join.kind != "allow_optional_failures":
        raise join.violation(place, succeeded, failed)
    if verdict == "violated" and asked:
        raise join.violation(place, succeeded, failed)
    totals.degraded = totals.degraded or verdict == "degraded"
    totals.warnings.extend(f"'{name}' failed: {error}" for name, error in failed.items())
