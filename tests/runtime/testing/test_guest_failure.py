"""A failure of an agent of another framework as a test."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from orbiter.redaction import REDACTED
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from tests.runtime.testing.recording import Recorded, record, working_in

CLERK = '''
from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel


def say(messages, info):
    turn = sum(isinstance(each, ModelResponse) for each in messages)
    if turn == 0:
        return ModelResponse(parts=[ToolCallPart("price", {"what": "tea"}, tool_call_id="c1")])
    return ModelResponse(parts=[TextPart("it costs something")])


clerk = Agent(FunctionModel(say, model_name="clerk"), name="clerk", instructions="Name prices.")


@clerk.tool_plain
def price(what: str) -> str:
    """What a thing costs."""
    raise ZeroDivisionError("the price list is empty")
'''
KEY = "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"


def by_hand(opened: ev.IncidentOpened, state: DurableRun) -> tuple[str, dict[str, Any]]:
    return "result", {"value": f"three, says {KEY}"}


def test_a_guests_tool_is_red_then_green_then_red(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    (root / "clerk.py").write_text(CLERK)
    with working_in(root):
        guest = Recorded(root, asyncio.run(record(root, "clerk.py:clerk", "What is tea?", by_hand)))
    assert guest.state.phase == "completed"
    kept = guest.file.read_text()
    assert KEY not in kept
    assert REDACTED in guest.export
    assert str(root) not in kept
    assert str(root) in guest.export
    step = guest.failed("price")
    red = guest.check(step)
    assert "still fails" in red, red
    assert "the price list is empty" in red, "what an operator gave by hand does not count"
    guest.change("clerk.py", 'raise ZeroDivisionError("the price list is empty")', f'return "two, says {KEY}"')
    assert guest.check(step) == ""
    guest.change("clerk.py", "Name prices.", "Name all prices.")
    guest.change("clerk.py", "def price(what: str)", "def price(thing: str)")
    assert "the step" in guest.check(step)
