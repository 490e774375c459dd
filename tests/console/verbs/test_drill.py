"""`run --drill`: a process that is killed twice, once in the middle of an effect, and the account at the end."""

from __future__ import annotations

import json

from tests.console.program import Program

DRILL = """
[[faults]]
after_step = 2
kill = true

[[faults]]
tool = "store"
kill = true
"""


def test_a_drill_that_kills_its_process_loses_and_doubles_nothing(program: Program) -> None:
    (program.directory / "orbiter.toml").write_text('[permissions]\nallow = ["fs.write:./**"]\n')
    (program.directory / "drills.toml").write_text(DRILL)
    done = program("run", "keeper.py:swarm", "tea", "--drill", "drills.toml", "--json")
    assert done.returncode == 3, done.stderr
    assert "--state .orbiter/drills/" in done.stderr.replace("\n", " ")
    account = json.loads(done.stdout.splitlines()[-1])["drill"]
    assert account["happened"] == ["process killed after step 2 (1 ×)", "tool store, call 1: killed (1 ×)"]
    assert account["healed"] == ["the run went on in another process, 3 in all"]
    (asked,) = account["asked"]
    assert "store" in asked
    assert "(waits for an answer)" in asked
    assert (account["lost"], account["doubled"]) == ([], [])
    assert program.logged("stored.log") == ["a.txt"], "the effect took place once, and is in doubt"
    assert program.json("runs") == [], "the workspace's own journal has nothing of it"


CLERK = """
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel

TURNS = [ToolCallPart("price", {}, tool_call_id="c1"), ToolCallPart("pay", {}, tool_call_id="c2"), TextPart("paid")]


def say(messages, info):
    return ModelResponse(parts=[TURNS[sum(isinstance(each, ModelResponse) for each in messages)]])


clerk = Agent(FunctionModel(say, model_name="clerk"), name="clerk")


@clerk.tool_plain
def price() -> str:
    return "three"


@clerk.tool_plain
def pay() -> str:
    with Path("paid.log").open("a") as log:
        log.write("three\\n")
    return "paid"
"""


def test_the_process_of_a_guest_is_killed_between_its_calls_and_in_one(program: Program) -> None:
    (program.directory / "clerk.py").write_text(CLERK)
    (program.directory / "drills.toml").write_text(
        "[[faults]]\nafter_step = 1\nkill = true\n\n[[faults]]\ntool = 'pay'\nkill = true\n"
    )
    done = program("run", "clerk.py:clerk", "pay the tea", "--drill", "drills.toml", "--json")
    assert done.returncode == 3, done.stderr
    account = json.loads(done.stdout.splitlines()[-1])["drill"]
    assert account["happened"] == ["process killed after step 1 (1 ×)", "tool pay, call 1: killed (1 ×)"]
    assert account["healed"] == ["the run went on in another process, 3 in all"]
    (asked,) = account["asked"]
    assert "clerk~0/pay" in asked, "price was not under way when the process was killed between two steps"
    assert (account["lost"], account["doubled"]) == ([], [])
    assert program.logged("paid.log") == ["three"]


def test_a_file_to_begin_with_is_written_once_and_a_mistake_in_it_is_told(program: Program) -> None:
    assert program("drill", "init").returncode == 0
    again = program("drill", "init")
    assert again.returncode == 2
    assert "drills.toml is there already: name another file" in again.stderr.replace("\n", " ")
    path = program.directory / "drills.toml"
    path.write_text(path.read_text().replace("status = 429", "staus = 429", 1))
    wrong = program("run", "keeper.py:swarm", "tea", "--drill", "drills.toml")
    assert wrong.returncode == 2
    said = wrong.stderr.replace("\n", " ")
    (at,) = [n for n, line in enumerate(path.read_text().splitlines(), 1) if line == "staus = 429"]
    assert f"drills.toml, line {at}: 'staus' is not known: did you mean 'status'? For example status = 429" in said, (
        said
    )
    resumed = program("run", "keeper.py:swarm", "tea", "--drill", "drills.toml", "--resume")
    assert resumed.returncode == 2
