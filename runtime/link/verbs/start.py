"""Link verbs that start a run: list swarms, check a reference."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from pydantic import Field

from runtime.link.verbs.registry import (
    CommandOrigin,
    NoArgs,
    Verb,
    VerbArgs,
)
from runtime.swarms.discovery import check_swarm, find_swarms
from runtime.swarms.imports import IMPORT_LIMIT_S


class CheckArgs(VerbArgs):
    ref: str = Field(min_length=1)


def start_verbs(workspace: Path, import_limit_s: float = IMPORT_LIMIT_S) -> dict[str, Verb]:
    """`swarms` reads the workspace's files and runs none of them; `check` loads a swarm as a run would, so only an
    operator may ask for it.
    """

    async def swarms(_args: NoArgs, _asked: CommandOrigin) -> dict[str, Any]:
        return {"root": str(workspace), "refs": await asyncio.to_thread(find_swarms, workspace)}

    async def check_it(args: CheckArgs, _asked: CommandOrigin) -> dict[str, Any]:
        return {"ref": await check_swarm(args.ref, workspace, limit_s=import_limit_s)}

    return {"swarms": Verb(NoArgs, swarms), "check": Verb(CheckArgs, check_it, acts=True)}
