"""Runs without an operator to ask, each in a process of its own: what `orbiter-console run` ends with."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from runtime.record.places import open_journal
from runtime.record.state.durable_run import RUN_TERMINAL
from tests.console.program import PROGRAM, environment

CONFIG = "[errors]\nenable_error_routing = false\n"
SWARM = '''"""Agents whose models answer, refuse the key, or are down for a moment."""

from orbiter import Agent, Swarm
from orbiter.models.scripted.replies import Fault
from orbiter.models.scripted.provider import script

NO_KEY = Fault(status=401, code="invalid_api_key", type="invalid_request_error", message="bad key")
script("good", ["done"])
script("dead", [[NO_KEY] * 9])
script("down", [[Fault(status=503), "back"]])
good, dead, down = (Agent(name=name, model=f"scripted:{name}") for name in ("good", "dead", "down"))
both = Swarm(agents=[dead, down, good], flow="(dead | down) >> good")
'''
CODES = {"dead": 1, "both": 1, "good": 0, "down": 0}
WEIGHTS = (7, 2, 1, 1)


class Ended(NamedTuple):
    name: str
    code: int
    said: str


async def headless_runs(root: Path, count: int, *, at_once: int, seed: int, shared: bool) -> list[Ended]:
    """Run so many, each in a workspace of its own or all in one; what each was and came to."""
    names = random.Random(seed).choices(list(CODES), WEIGHTS, k=count)
    slots = asyncio.Semaphore(at_once)

    async def one(number: int, name: str) -> Ended:
        place = root / ("shared" if shared else f"w{number}")
        place.mkdir(exist_ok=True)
        (place / "orbiter.toml").write_text(CONFIG)
        (place / "swarms.py").write_text(SWARM)
        async with slots:
            process = await asyncio.create_subprocess_exec(
                *PROGRAM, "run", f"swarms.py:{name}", f"task {number}", cwd=place, env=environment(),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
            )  # fmt: skip
            try:
                async with asyncio.timeout(120):
                    said, _ = await process.communicate()
            except TimeoutError:
                process.kill()
                said, _ = await process.communicate()
        assert process.returncode is not None
        return Ended(name, process.returncode, said.decode())

    return await asyncio.gather(*(one(number, name) for number, name in enumerate(names)))


def check_codes(ended: Sequence[Ended]) -> None:
    wrong = [each for each in ended if each.code != CODES[each.name]]
    assert not wrong, f"{len(wrong)} of {len(ended)}, the first: {wrong[0]}"


async def check_journals(root: Path) -> int:
    """Every run of every workspace has ended; how many there are."""
    count = 0
    for path in root.glob("*/.orbiter/journal.db"):
        async with await open_journal(path.parent, readonly=True) as journal:
            runs = await journal.runs(limit=10_000)
            assert [each for each in runs if each.state not in RUN_TERMINAL] == [], path
            assert await journal.stranded() == []
            count += len(runs)
    return count
