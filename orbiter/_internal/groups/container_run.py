"""One run of a container: one node of the run's tree, one way to fail, and for each kind of container its members."""

from __future__ import annotations

from functools import singledispatch

from orbiter import steps
from orbiter._internal.agent_group import ParallelGroup, SerialGroup
from orbiter._internal.declarations.container import Container, runs_as_declared
from orbiter._internal.error_causes import join_with_cause
from orbiter._internal.groups.group_run import run_parallel_group, run_serial_group
from orbiter._internal.groups.members import MemberContext, as_result
from orbiter._internal.groups.partial_results import partial_result_of
from orbiter._internal.groups.swarm_run import run_swarm
from orbiter._internal.loop.tool_step import as_text
from orbiter._internal.nested import SwarmNode
from orbiter._internal.run_options import RunSettings
from orbiter.errors import NestedSwarmError
from orbiter.steps import DIRECT, Place, Skipped, errors_of_swarm
from orbiter.swarm import Swarm
from orbiter.types import Message, RunResult


async def run_as_node(
    container: Container, input: str, settings: RunSettings, messages: list[Message] | None
) -> RunResult:
    """See `Container.run`."""
    if not steps.inside():
        # No operator to ask, nothing to record.
        with errors_of_swarm(container.errors):
            return await run_members(container, input, MemberContext(DIRECT, settings, messages))
    info = {"task": as_text(input), "members": container._members(), **container._info()}
    async with steps.opening(container._kind, container.name, info) as scope:
        if (corrected := scope.corrected_input()) is not None:
            input = as_text(corrected)
        with steps.asked_of(container.classify_error, container.get_retry_policy):
            try:
                result = await _run_until_settled(container, input, MemberContext(scope, settings, messages))
            except Skipped as skipped:  # a member, or, as the answer to its own fault, the whole of it
                result = RunResult(output=as_text(skipped.value), agent=container.name, state="completed")
        if result.state == "degraded":
            scope.outcome(result.output, state="degraded", note="; ".join(result.warnings))
        else:
            scope.outcome(result.output)
        return result


async def _run_until_settled(container: Container, input: str, context: MemberContext) -> RunResult:
    """Run the members, and again for as long as the answer to what fails says so."""
    while True:
        try:
            return await run_members(container, input, context)
        except Exception as exc:
            answer = await context.scope.fault(exc)
            if answer.option == "accept" and (partial := partial_result_of(exc, container.name)) is not None:
                return partial
            if answer.option == "input":
                input = as_text(answer.value)
            elif answer.option != "retry":
                raise


@singledispatch
async def run_members(container: Container, input: str, context: MemberContext) -> RunResult:
    """Run a container's members. Done again after a fault, so it must be deterministic."""
    raise TypeError(f"{type(container).__name__} is not a group, a nested swarm or a swarm")


run_members.register(ParallelGroup, run_parallel_group)
run_members.register(SerialGroup, run_serial_group)
run_members.register(Swarm, run_swarm)


@run_members.register(SwarmNode)
async def _(node: SwarmNode, input: str, context: MemberContext) -> RunResult:
    if runs_as_declared(node.swarm):
        # The node stands for the swarm: a second node would say nothing new.
        return await run_members(node.swarm, input, context._replace(messages=None))
    settings = context.settings
    with steps.at(context.scope, Place(0)):
        try:
            result = await node.swarm.run(input, provider=settings.provider, max_retries=settings.max_retries)
        except Exception as exc:
            raise join_with_cause(NestedSwarmError, f"Nested swarm '{node.name}' failed: {exc}", exc) from exc
    return as_result(result, node.name)
