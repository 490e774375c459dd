"""The agents of a swarm: run in the way that its mode says."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from orbiter._internal.groups.handoff import run_handoff
from orbiter._internal.groups.members import MemberContext
from orbiter._internal.groups.team import run_team
from orbiter._internal.groups.workflow import run_workflow
from orbiter._internal.run_warnings import warn_needs_runtime
from orbiter.errors import SwarmError
from orbiter.steps import DIRECT
from orbiter.swarm import MODES, Swarm
from orbiter.types import RunResult

_RUN_BY_MODE = {"workflow": run_workflow, "handoff": run_handoff, "team": run_team}


def run_swarm(swarm: Swarm, input: str, context: MemberContext) -> Coroutine[Any, Any, RunResult]:
    """Run the swarm's agents. To be awaited at once.

    Raises:
        SwarmError: The mode is unknown, or the agents cannot be run in it.
    """
    if context.scope is DIRECT and (swarm.recovery.budget or swarm.recovery.models):
        warn_needs_runtime(f"Swarm '{swarm.name}' declares a budget, or models that stand in for others")
    run_mode = _RUN_BY_MODE.get(swarm.mode)
    if run_mode is None:
        raise SwarmError(f"Unsupported swarm mode: '{swarm.mode}'", suggestion=f"Use one of {', '.join(MODES)}.")
    return run_mode(swarm, input, context)
