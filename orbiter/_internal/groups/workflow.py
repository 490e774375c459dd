"""Workflow mode: each stage works on the output of the one before."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from functools import partial

from orbiter._internal.groups.members import MemberContext, RunTotals, run_member
from orbiter._internal.groups.stage import merge_stage, run_stage
from orbiter.steps import Aborted, HandedBack, Place
from orbiter.swarm import Swarm
from orbiter.types import RunResult

logger = logging.getLogger("orbiter")


async def run_workflow(swarm: Swarm, input: str, context: MemberContext) -> RunResult:
    """Run the stages in turn; a failed one is passed over where the swarm's policy says so."""
    members = MemberContext(
        context.scope,
        context.settings,
        context.messages,
        peers=partial(_explain_peer, swarm),
        fallbacks=swarm.recovery.agents,
    )
    run = _WorkflowRun(swarm, members)
    text = input
    result: RunResult | None = None
    stages = swarm.stages
    index = first = 0
    while index < len(stages):
        stage = stages[index]
        index += 1
        try:
            # A stage that is done once more is a place of its own: what it did before stands beside it.
            place = first + index - 1
            if len(stage) == 1:
                result = await run_member(swarm.agents[stage[0]], text, Place(place), run.context)
                run.totals.add(stage[0], result)
            else:
                result = await run.side_by_side(place, stage, text)
        except HandedBack as back:
            if back.scope != context.scope.node_id:
                raise
            if back.remedy == "go_on":
                result = run.pass_over(stage, text, back)
            else:
                first += index
                index = next(at for at, names in enumerate(stages) if back.to in names)
                first -= index
                text = f"{input}\n\n{back.reason}"
                continue
        except Aborted:
            raise
        except Exception as exc:
            if swarm.failure.agent == "fail":
                raise
            result = run.pass_over(stage, text, exc)
        text = result.output
    return run.totals.apply_to(RunResult(output=input) if result is None else result)


@dataclass(slots=True)
class _WorkflowRun:
    """What the stages of one run share."""

    swarm: Swarm
    context: MemberContext
    totals: RunTotals = field(default_factory=RunTotals)

    async def side_by_side(self, index: int, names: tuple[str, ...], text: str) -> RunResult:
        """Run a stage of several agents."""
        swarm = self.swarm
        members, places = [swarm.agents[name] for name in names], [Place(index, at) for at in range(len(names))]
        joined = await run_stage(members, text, places, self.context, join=swarm.join)
        for name, each in joined.results.items():
            self.totals.add(name, each)
        self.totals.degraded = self.totals.degraded or joined.degraded
        self.totals.warnings.extend(f"'{name}' failed: {error}" for name, error in joined.failed.items())
        output = "\n\n".join(each.output for each in joined.results.values())
        return merge_stage(f"({' | '.join(names)})", output, joined)

    def pass_over(self, stage: tuple[str, ...], text: str, exc: Exception) -> RunResult:
        """A stage that failed under a policy that goes on: its input stands for its output."""
        names = " | ".join(stage)
        warning = f"'{names}' failed and was passed over: {exc}"
        logger.warning("Swarm '%s': %s", self.swarm.name, warning)
        self.context.scope.warn(warning)
        self.totals.warnings.append(warning)
        self.totals.degraded = self.totals.degraded or self.swarm.failure.agent == "degrade"
        return RunResult(output=text, agent=names, error=str(exc))


def _explain_peer(swarm: Swarm, name: str) -> str | None:
    """What to say to a model that calls a peer as if it were a tool."""
    if name not in swarm.agents:
        return None
    return "It works on its own stage of this workflow and cannot be called. Answer in text, which is handed on."
