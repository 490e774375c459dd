"""Events and runs for the journal's tests, and other processes that use the same journal."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

from runtime.record.journal import Journal, Lease
from runtime.record.state import events as ev
from runtime.record.state.durable_run import Summary
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)
from tests.present import present

ROOT = Path(__file__).resolve().parents[3]


def created(run_id: str = "r1") -> ev.RunCreated:
    return ev.RunCreated(run_id=run_id, ref="/swarm.py:swarm", title=f"title of {run_id}", input="do it")


def summary(run_id: str = "r1") -> Summary:
    return Summary(id=run_id, ref="/swarm.py:swarm", title=f"title of {run_id}")


def warned(text: str = "mind") -> ev.Warned:
    return ev.Warned(node_id="a~0", text=text)


def opened(incident_id: str = "i1", revision: int = 1) -> ev.IncidentOpened:
    fault = Classification(origin=Origin.TOOL, cause=Cause.TOOL_FAILED, persistence=Persistence.UNKNOWN)
    return ev.IncidentOpened(incident_id=incident_id, revision=revision, fault=fault)


def answer(incident_id: str = "i1", option: str = "retry", revision: int = 1, by: str = "ann") -> ev.IncidentAnswered:
    actor = ev.Actor(name=by, channel="cli")
    return ev.IncidentAnswered(incident_id=incident_id, revision=revision, option=option, by=actor)


def grant(grant_id: str = "g1") -> ev.GrantAdded:
    return ev.GrantAdded(grant_id=grant_id, subject="*", verb="shell", pattern="", lifetime="always")


async def started(journal: Journal, run_id: str = "r1", owner: str = "me", ttl_s: float = 10.0) -> Lease:
    """A run that exists and is driven by `owner`."""
    await journal.create(created(run_id), summary(run_id))
    lease = present(await journal.claim(run_id, owner, ttl_s))
    await journal.append(lease, [ev.RunStarted(epoch=lease.epoch, owner=owner)])
    return lease


async def state_of(journal: Journal, run_id: str = "r1") -> str:
    found = present(await journal.summary(run_id))
    return found.state


def texts(events: list[ev.JournalEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, ev.Warned)]


PREAMBLE = """
import asyncio, os, sys
from runtime.record.state import events as ev
from runtime.record.journal import *
from tests.runtime.record.journal_samples import *

async def main():
    journal = await {opener}
    try:
{body}
    finally:
        await journal.close()

asyncio.run(main())
"""


def elsewhere(opener: str, body: str, **environment: str) -> subprocess.Popen[str]:
    """Another process that runs `body` with `journal` open. Whatever it prints can be read line by line."""
    source = PREAMBLE.format(opener=opener, body=textwrap.indent(textwrap.dedent(body), " " * 8))
    return subprocess.Popen(
        [sys.executable, "-u", "-c", source],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
