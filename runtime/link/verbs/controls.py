"""Link verbs that act on whole runs: freeze, thaw, abort, rewind, fork, inject, break.

Freeze, thaw, breakpoints, messages, rewind, fork (`runtime.operations.run_controls`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from runtime.link.verbs.registry import (
    CommandError,
    CommandOrigin,
    Verb,
    VerbArgs,
)
from runtime.operations.run_controls import RewindNeedsConfirmation, RunControls


class FreezeArgs(VerbArgs):
    """A run, all runs of a swarm, or every run."""

    run_id: str = ""
    ref: str = ""
    reason: str = ""


class ThawArgs(VerbArgs):
    run_id: str = ""
    ref: str = ""


class BreakArgs(VerbArgs):
    run_id: str = Field(min_length=1)
    what: Literal["tool", "agent"]
    pattern: str = Field(min_length=1)
    clear: bool = False


class InjectArgs(VerbArgs):
    """`agent` is a name or a node's id."""

    run_id: str = Field(min_length=1)
    agent: str = Field(min_length=1)
    text: str = Field(min_length=1)


class RewindArgs(VerbArgs):
    """`confirm`: effects may be repeated."""

    run_id: str = Field(min_length=1)
    node_id: str = Field(min_length=1)
    changes: dict[str, Any] = Field(default_factory=dict)
    confirm: bool = False
    reason: str = ""


class ForkArgs(VerbArgs):
    run_id: str = Field(min_length=1)
    node_id: str = ""
    changes: dict[str, Any] = Field(default_factory=dict)


def run_verbs(controls: RunControls, hint: Callable[[], None]) -> dict[str, Verb]:
    """`hint` wakes whoever drives runs."""

    async def freeze(args: FreezeArgs, asked: CommandOrigin) -> dict[str, Any]:
        return {"run_ids": await controls.freeze(args.run_id, ref=args.ref, reason=args.reason, by=asked.by)}

    async def thaw(args: ThawArgs, asked: CommandOrigin) -> dict[str, Any]:
        thawed = await controls.thaw(args.run_id, ref=args.ref, by=asked.by)
        hint()
        return {"run_ids": thawed}

    async def set_break(args: BreakArgs, asked: CommandOrigin) -> dict[str, Any]:
        warning = await controls.set_breakpoint(args.run_id, args.what, args.pattern, clear=args.clear, by=asked.by)
        return {"run_id": args.run_id, "warning": warning}

    async def inject(args: InjectArgs, asked: CommandOrigin) -> dict[str, Any]:
        return {"injection_id": await controls.inject(args.run_id, args.agent, args.text, by=asked.by)}

    async def rewind(args: RewindArgs, asked: CommandOrigin) -> dict[str, Any]:
        try:
            dropped = await controls.rewind(
                args.run_id,
                args.node_id,
                changes=args.changes,
                confirm=args.confirm,
                reason=args.reason,
                by=asked.by,
            )
        except RewindNeedsConfirmation as exc:
            nodes = [{"id": node.id, "name": node.name} for node in exc.nodes]
            raise CommandError("effects", str(exc), nodes=nodes) from exc
        hint()
        return {"dropped": sorted(dropped)}

    async def fork(args: ForkArgs, asked: CommandOrigin) -> dict[str, Any]:
        run_id = await controls.fork(args.run_id, args.node_id, changes=args.changes, by=asked.by)
        hint()
        return {"run_id": run_id}

    return {
        "freeze": Verb(FreezeArgs, freeze, acts=True),
        "thaw": Verb(ThawArgs, thaw, acts=True),
        "break": Verb(BreakArgs, set_break, acts=True),
        "inject": Verb(InjectArgs, inject, acts=True),
        "rewind": Verb(RewindArgs, rewind, acts=True),
        "fork": Verb(ForkArgs, fork, acts=True),
    }
