"""A tool that has done something and then fails runs once, whatever its words or the name of its exception say."""

from __future__ import annotations

import pytest

from runtime.record.state.durable_run import RUN_TERMINAL, DurableRun
from tests.runtime.bench import ME, Bench

APP = '''
from pathlib import Path
from orbiter import Agent, errors, tool
from orbiter.models.scripted import Call, Reply, script
from orbiter.severity import ErrorClassification, ErrorSeverity

class ThrottledPartiallyError(Exception): pass
class RateLimitError(Exception): pass
class ConnectError(Exception): pass

@tool
def place(n: int) -> str:
    """Place n orders."""
    with Path({effects!r}).open("a") as file:
        file.write("placed\\n")
    raise {failure}

script("words/clerk", [Reply(calls=[Call("place", {{"n": 3}})]), "done"])
agent = Agent(
    name="clerk",
    model="scripted:words/clerk",
    tools=[place],
    classify_error=lambda exc, context: ErrorClassification(ErrorSeverity.RETRIABLE),
)
'''


@pytest.mark.parametrize(
    "failure",
    [
        'RuntimeError("429 Orders were created, then the database failed")',
        'RuntimeError("[ORDER_THROTTLED] order 7 is placed and will be sent slowly")',
        'RuntimeError("paid (ThrottlingOff): done, but receipt broken")',
        'RuntimeError("rate limit exceeded")',
        'ThrottledPartiallyError("2 of 3 mails sent")',
        'RateLimitError("2 of 3 mails sent")',
        'errors.RateLimitError("2 of 3 mails sent")',
        'ConnectError("the receipt could not be sent")',
        'ValueError("Invalid arguments: half of it was booked")',
    ],
)
async def test_an_agent_that_wants_every_failure_tried_again_has_no_tool_run_twice(bench: Bench, failure: str) -> None:
    source = APP.format(effects=str(bench.effects_file), failure=failure)
    (bench.root / "app.py").write_text(source, encoding="utf-8")
    run = await bench.decisions.start(f"{bench.root}/app.py:agent", "go", by=ME)
    async with bench.driving():
        await bench.until(run, _asks_or_ended)
    assert bench.effects == ["placed"]


def _asks_or_ended(state: DurableRun) -> bool:
    return bool(state.open_incidents) or state.phase in RUN_TERMINAL
