"""Lives of a runtime, each a process of its own: forked from one that has imported everything.

Reads commands as JSON lines, ``{"state": DIR, "die_after": N, "env": {...}}``; each forks a process that drives the
workspace until nothing is runnable, or dies by SIGKILL after N appends. Answers ``{"status": exit status}``.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path

import orbiter.runner
from runtime.judgement.retry import RetryPolicy
from runtime.record.sqlite import SqliteJournal
from runtime.work.conditions import Conditions
from runtime.work.supervisor import Supervisor

assert orbiter.runner is not None


async def live(state: Path) -> None:
    async with await SqliteJournal.open(state / "journal.db") as journal:
        conditions = Conditions(workspace=str(state), policy=RetryPolicy(max_attempts=2, base=0.01), grace_s=0.0)
        # A dead driver's lease must run out before the next life may take over: short, or the test only waits.
        supervisor = Supervisor(journal, conditions, lease_s=0.3, period_s=0.02)
        serving = asyncio.create_task(supervisor.serve())
        try:
            while supervisor.driving or await journal.runs(states=("queued", "running")):  # noqa: ASYNC110 - in a file
                await asyncio.sleep(0.01)
        finally:
            supervisor.stop()
            await serving


def main() -> None:
    for line in sys.stdin:
        command = json.loads(line)
        child = os.fork()
        if child == 0:
            os.environ.update(command.get("env", {}))
            if command.get("die_after"):
                os.environ["ORBITER_DIE_AFTER_APPENDS"] = str(command["die_after"])
            asyncio.run(live(Path(command["state"])))
            sys.stdout.flush()
            os._exit(0)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    main()
