"""Verbs that act on runs as a whole: freeze, thaw, breakpoints, messages, rewind, fork (`runtime.operations.run_controls`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from pydantic import Field

from runtime.link.verbs.registry import (
    Args,
    Asked,
    CommandError,
    Verb,
)
from runtime.operations.run_controls import Controls, Effects


class FreezeArgs(Args):
    """A run, all runs of a swarm, or every run."""

    run_id: str = ""
    ref: str = ""
    reason: str = ""


class ThawArgs(Args):
    run_id: str = ""
    ref: str = ""


class BreakArgs(Args):
    run_id: str = Field(min_length=1)
    what: Literal["tool", "agent"]
    pattern: str = Field(min_length=1)
    clear: bool = False


class InjectArgs(Args):
    """`agent` is a name or a node's id."""

    run_id: str = Field(min_length=1)
    agent: str = Field(min_length=1)
    text: str = Field(min_length=1)


class RewindArgs(Args):
    """`confirm`: effects may be repeated."""

    run_id: str = Field(min_length=1)
    node_id: str = Field(min_length=1)
    changes: dict[str, Any] = Field(default_factory=dict)
    confirm: bool = False
    reason: str = ""


class ForkArgs(Args):
    run_id: str = Field(min_length=1)
    node_id: str = ""
    changes: dict[str, Any] = Field(default_factory=dict)


def run_verbs(controls: Controls, hint: Callable[[], None]) -> dict[str, Verb]:
    """`hint` wakes whoever drives runs."""

    async def freeze(args: FreezeArgs, asked: Asked) -> dict[str, Any]:
        return {"run_ids": await controls.freeze(args.run_id, ref=args.ref, reason=args.reason, by=asked.by)}

    async def thaw(args: ThawArgs, asked: Asked) -> dict[str, Any]:
        thawed = await controls.thaw(args.run_id, ref=args.ref, by=asked.by)
        hint()
        return {"run_ids": thawed}

    async def set_break(args: BreakArgs, asked: Asked) -> dict[str, Any]:
        warning = await controls.set_breakpoint(args.run_id, args.what, args.pattern, clear=args.clear, by=asked.by)
        return {"run_id": args.run_id, "warning": warning}

    async def inject(args: InjectArgs, asked: Asked) -> dict[str, Any]:
        return {"injection_id": await controls.inject(args.run_id, args.agent, args.text, by=asked.by)}

    async def rewind(args: RewindArgs, asked: Asked) -> dict[str, Any]:
        try:
            dropped = await controls.rewind(
                args.run_id,
                args.node_id,
                changes=args.changes,
                confirm=args.confirm,
                reason=args.reason,
                by=asked.by,
            )
        except Effects as exc:
            nodes = [{"id": node.id, "name": node.name} for node in exc.nodes]
            raise CommandError("effects", str(exc), nodes=nodes) from exc
        hint()
        return {"dropped": sorted(dropped)}

    async def fork(args: ForkArgs, asked: Asked) -> dict[str, Any]:
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
