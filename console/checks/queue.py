"""The queue of a workspace that has one: whether it can be used, and how many runs wait in it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from console.checks.finding import CheckContext, Finding
from orbiter.errors import ConfigurationError
from runtime.config.loader import load_configuration
from runtime.record.places import journal_address
from runtime.worker.engines.choice import describe_queue
from runtime.worker.engines.port import EngineError


def check_queue(world: CheckContext) -> Iterator[Finding]:
    """Connects to the database where `[runtime] engine` says that there is a queue."""
    try:
        engine = load_configuration(world.place.root, world.environment).settings.runtime.engine
    except ConfigurationError as exc:
        yield Finding("queue", "fail", str(exc), "correct the file")
        return
    if engine == "local":
        yield Finding("queue", "ok", 'each worker takes runs by itself: [runtime] engine is "local"')
        return
    try:
        address = journal_address(world.place.state)
        if address is None:
            told = f'engine = "{engine}" is for a workspace on Postgres, and {world.place.state} is a directory'
            yield Finding("queue", "fail", told, 'name one with --workspace, or set [runtime] engine to "local"')
            return
        yield Finding("queue", "ok", asyncio.run(describe_queue(address)))
    except EngineError as exc:
        yield Finding("queue", "fail", str(exc))
