"""The seeds' own code that runs agents, as it stands (seed 000, "Best Practices for Error Handling")."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import pytest

import orbiter.runner
from orbiter import Agent
from orbiter.errors import SwarmError
from orbiter.hooks import HookPoint
from tests.orbiter.engine_fakes import Script, calls, skip_waits, text

IN_USER_CODE = """
from orbiter import run
from orbiter.types import OrbiterError
from orbiter.agent import AgentError
try:
    result = await run(agent, "Delete everything")
except AgentError as e:
    print(f"Agent failed: {e}")
# e.__cause__ has the original exception
except OrbiterError as e:
    print(f"Framework error: {e}")
"""


async def _run(source: str, **names: Any) -> dict[str, Any]:
    code = compile(source, "<seed>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    space = dict(names)
    outcome = eval(code, space)
    if inspect.isawaitable(outcome):
        await outcome
    return space


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the model says next; attempts do not wait."""
    script = Script()
    monkeypatch.setattr(orbiter.runner, "_resolve_provider", lambda agent: script)
    skip_waits(monkeypatch)
    return script.replies


async def test_in_user_code_an_agent_fails(model: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    model.extend([ConnectionError("refused")] * 3)
    await _run(IN_USER_CODE, agent=Agent(name="admin"))
    said = capsys.readouterr().out
    assert said == "Agent failed: Call runner failed for agent 'admin': Agent 'admin' failed after 3 retries: refused\n"


async def test_in_user_code_the_framework_fails(model: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    class Broken(Agent):
        async def run(self, *args: Any, **kwargs: Any) -> Any:
            raise SwarmError("out of order")

    await _run(IN_USER_CODE, agent=Broken(name="admin"))
    assert capsys.readouterr().out == "Framework error: Call runner failed for agent 'admin': out of order\n"


async def test_in_user_code_all_is_well(model: list[Any]) -> None:
    model.append(text("nothing deleted"))
    space = await _run(IN_USER_CODE, agent=Agent(name="admin"))
    assert space["result"].output == "nothing deleted"


IN_HOOKS = '''
from orbiter.hooks import HookPoint
async def validate_tool_call(agent, tool_name, arguments):
    """Hook that validates tool calls before execution."""
    if tool_name == "delete_all" and not arguments.get("confirm"):
        # Raising in a hook aborts the operation
        raise ValueError("delete_all requires confirm=True")
'''


async def test_in_hooks(model: list[Any], capsys: pytest.CaptureFixture[str]) -> None:
    deleted: list[str] = []

    def delete_all(confirm: bool = False) -> str:
        deleted.append("all")
        return "deleted"

    space = await _run(IN_HOOKS)
    hook = space["validate_tool_call"]
    admin = Agent(name="admin", tools=[delete_all], hooks=[(HookPoint.PRE_TOOL_CALL, hook)])
    model.append(calls(("delete_all", {})))
    await _run(IN_USER_CODE, agent=admin)
    said = capsys.readouterr().out
    assert said == "Framework error: Call runner failed for agent 'admin': delete_all requires confirm=True\n"
    assert deleted == []
    model.extend([calls(("delete_all", {"confirm": True})), text("gone")])
    await _run(IN_USER_CODE, agent=admin)
    assert deleted == ["all"]
