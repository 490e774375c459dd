"""Whatever user code raises ends its own step or run, and an import that hangs holds up its own run alone."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.reports.explanation.explain import explain
from runtime.record.inbox_row import InboxRow
from runtime.record.places import open_journal
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import Cause
from runtime.swarms import imports
from runtime.swarms.discovery import check_swarm
from runtime.swarms.load_errors import SwarmLoadError
from runtime.worker.driving_thread import DrivingThread
from tests.data.swarms.hostile import EXCEPTIONS, PLACES
from tests.runtime.bench import ME, Bench

HOSTILE = Path(__file__).parents[2] / "data" / "swarms" / "hostile.py"
GOOD = """
from orbiter import Agent
from orbiter.models.scripted.provider import script
script("user/good", ["all is well"])
good = Agent(name="good", model="scripted:user/good")
"""
ODD = """
import time
class Mute(Exception):
    def __str__(self): raise ValueError("no text")
class Odd(Exception):
    def __str__(self): return 7
class Ending(Exception):
    def __str__(self): raise KeyboardInterrupt
"""
PAIRS = [
    *((place, kind) for place in PLACES for kind in ("KeyboardInterrupt", "Ending")),
    *(("async_tool", kind) for kind in EXCEPTIONS),
    *(("hook", kind) for kind in EXCEPTIONS),
    *((place, "Endless") for place in PLACES),
    ("task_of_tool", "SystemExit"),
    ("group", "SystemExit"),
    ("provider", "GeneratorExit"),
]

TOLD = ("sync_tool", "async_tool", "task_of_tool", "callback_of_tool", "result", "classify_error", "retry_policy")


async def begun(path: Path) -> None:
    """Wait until the import of a hanging file has begun."""
    while not path.with_suffix(".begun").exists():  # noqa: ASYNC110 - told by a file
        await asyncio.sleep(0.01)


@asynccontextmanager
async def runtime(root: Path, **given: Any) -> AsyncIterator[tuple[Bench, DrivingThread]]:
    """A driving thread as every runtime has it, and a bench that looks on from outside."""
    host = DrivingThread(root, ExecutionConfig(workspace=str(root), drain_s=0.2, **given))
    await asyncio.to_thread(host.start)
    try:
        async with await open_journal(root) as journal:
            yield Bench(root, journal), host
    finally:
        await asyncio.to_thread(host.stop)


def _settled(state: DurableRun) -> bool:
    return state.terminal or bool(state.open_incidents)


async def test_whatever_user_code_raises_everything_else_goes_on(tmp_path: Path) -> None:
    async with runtime(tmp_path) as (bench, host):
        names = list(dict.fromkeys(f"{place}__{kind}" for place, kind in PAIRS))
        runs = {each: await bench.decisions.start(f"{HOSTILE}:{each}", "go", by=ME) for each in names}
        for name, run_id in runs.items():
            state = await bench.until(run_id, _settled)
            assert state.lives == 1, name
            if state.terminal:  # a tool's failure goes to the model, which had its say
                assert name.split("__")[0] in TOLD, name
        assert host.is_alive
        good = await bench.ended(await bench.decisions.start(f"{HOSTILE}:good", "go", by=ME))
        assert good.output == "all is well"


@pytest.mark.parametrize("raised", [*(f"{kind}('b')" for kind in ("BaseException", "KeyboardInterrupt", "SystemExit")),
    "GeneratorExit()", "__import__('asyncio').CancelledError()", "Mute('m')", "Odd()", "Ending()"])  # fmt: skip
async def test_what_an_import_raises_becomes_an_incident_that_names_the_file(tmp_path: Path, raised: str) -> None:
    (tmp_path / "bad.py").write_text(f"{ODD}\nraise {raised}\n")
    (tmp_path / "good.py").write_text(GOOD)
    with pytest.raises(SwarmLoadError, match=r"bad\.py, line 10"):
        await check_swarm("bad.py:swarm", tmp_path)
    async with runtime(tmp_path) as (bench, _):
        (incident,) = await bench.incidents(await bench.decisions.start("bad.py:swarm", "go", by=ME))
        assert "bad.py, line 10" in incident.opened.message
        assert incident.opened.fault.cause is Cause.CONFIG_INVALID
        assert "retry" in [each.id for each in incident.opened.options]
        (tmp_path / "bad.py").write_text(GOOD.replace("good =", "swarm ="))
        assert (await bench.ended_by(incident, "retry")).output == "all is well"


async def test_a_file_that_registers_a_provider_is_good_for_more_than_one_run(tmp_path: Path) -> None:
    source = """
from orbiter import Agent
from orbiter.models import ModelProvider, ModelResponse, model_registry
class Parrot(ModelProvider):
    async def complete(self, messages, **told):
        return ModelResponse(content=messages[-1].content)
    async def stream(self, messages, **told):
        yield
model_registry.register("parrot-of-two-runs", Parrot)
bird = Agent(name="bird", model="parrot-of-two-runs:grey")
"""
    (tmp_path / "bird.py").write_text(source)
    async with runtime(tmp_path) as (bench, _):
        for said in ("one", "two"):
            run_id = await bench.decisions.start("bird.py:bird", said, by=ME)
            state = await bench.until(run_id, _settled)
            assert state.output == said, [each.opened.message for each in state.open_incidents]


HOOKED = """
from datetime import date
from threading import Lock
from orbiter import Agent, tool
from orbiter.hooks import HookPoint
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply
@tool
def note(text: str) -> str:
    return "noted"
script("user/notes", [Reply(calls=[Call("note", {"text": "x"})]), "done"])
def deep(levels):
    return {"a": deep(levels - 1)} if levels else {}
LEFT = {
    "object": object(),
    "lock": Lock(),
    "deep": deep(300),
    "generator": (each for each in "x"),
    "date": date(2026, 1, 2),
}
def swarm(odd):
    def edit(arguments, **told):
        arguments["text"] = arguments if odd == "loop" else LEFT[odd]
    return Agent(name="a", model="scripted:user/notes", tools=[note], hooks=[(HookPoint.PRE_TOOL_CALL, edit)])
for odd in [*LEFT, "loop"]:
    globals()[odd] = swarm(odd)
"""


@pytest.mark.parametrize("odd", ["object", "lock", "deep", "generator", "loop"])
async def test_what_a_hook_leaves_that_cannot_be_recorded_is_told_at_its_agent(bench: Bench, odd: str) -> None:
    (bench.root / "hooked.py").write_text(HOOKED)
    async with bench.driving():
        (incident,) = await bench.incidents(await bench.decisions.start(f"hooked.py:{odd}", "go", by=ME))
    assert (incident.opened.node_id, incident.opened.error_type) == ("a~0", "HookError")
    assert "A PRE hook of agent 'a' left in a call of note what JSON cannot say" in incident.opened.message


async def test_what_a_hook_leaves_that_can_be_written_as_text_is_taken(bench: Bench) -> None:
    (bench.root / "hooked.py").write_text(HOOKED)
    async with bench.driving():
        assert (await bench.ended(await bench.decisions.start("hooked.py:date", "go", by=ME))).output == "done"


UNCHECKED = """
from orbiter import Agent, AgentOutput, UserMessage
from orbiter.hooks import HookPoint
from orbiter.models.scripted.provider import script
script("user/unchecked", ["done"])
def leave(messages, **told):
    messages.append(UserMessage.model_construct(content=5))
class Own(Agent):
    async def run(self, *args, **options):
        return AgentOutput.model_construct(text=5)
hook = Agent(name="a", model="scripted:user/unchecked", hooks=[(HookPoint.PRE_LLM_CALL, leave)])
agent = Own(name="a", model="scripted:user/unchecked")
"""


@pytest.mark.parametrize("odd", ["hook", "agent"])
async def test_a_value_that_was_made_past_its_checks_is_the_fault_of_the_code_that_made_it(
    bench: Bench, odd: str
) -> None:
    (bench.root / "unchecked.py").write_text(UNCHECKED)
    async with bench.driving():
        (incident,) = await bench.incidents(await bench.decisions.start(f"unchecked.py:{odd}", "go", by=ME))
    fault = incident.opened.fault
    assert (fault.origin, fault.cause) == (odd, Cause.CONFIG_INVALID)
    assert "Input should be a valid string; got 5" in incident.opened.message


def why(state: DurableRun, asked: InboxRow) -> list[str]:
    return [each.text for each in explain(state.incidents[asked.opened.incident_id], state).why]


async def test_a_file_that_cannot_be_loaded_while_its_run_waits_is_told_as_its_loader_says(tmp_path: Path) -> None:
    swarm = tmp_path / "waiting.py"
    asking = """
from orbiter import Agent, tool
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply
@tool(failure="fail")
def fail() -> str:
    raise KeyError("seats")
script("user/waiting", [Reply(calls=[Call("fail")]), "done"])
waiting = Agent(name="waiting", model="scripted:user/waiting", tools=[fail])
"""
    swarm.write_text(asking)
    async with runtime(tmp_path, grace_s=0.0) as (bench, _):
        run = await bench.decisions.start("waiting.py:waiting", "go", by=ME)
        (asked,) = await bench.incidents(run)
        assert why(await bench.state(run), asked) == ["It raised KeyError in waiting.py:7, fail."]
    swarm.write_text(f"{asking}def (\n")
    async with runtime(tmp_path) as (bench, _):
        await bench.answer(asked, "retry")
        state = await bench.until(run, lambda state: len(state.incidents) == 2)
        (asked,) = await bench.incidents(run)
        assert asked.opened.fault.cause is Cause.CONFIG_INVALID
        assert "Correct it as the message says, then retry" in asked.opened.fault.suggestions
        (said,) = why(state, asked)
        assert "waiting.py, line 10: invalid syntax" in said
        swarm.write_text(asking.replace('raise KeyError("seats")', 'return "mended"'))
        assert (await bench.ended_by(asked, "retry")).output == "done"


class Gate(threading.Event):
    """What a hanging import waits for."""

    def wait_at(self, file: Path) -> None:
        """Say that `file` has begun: from its line that waits, so that it stands there."""
        file.with_suffix(".begun").touch()
        self.wait()


@pytest.fixture
def gate(tmp_path: Path) -> Iterator[threading.Event]:
    """Opened at the end of the test, whatever became of it."""
    opened = Gate()
    vars(threading)["_gate_of_test"] = opened
    yield opened
    opened.set()
    del vars(threading)["_gate_of_test"]


HANG = """
import threading
from pathlib import Path

threading._gate_of_test.wait_at(Path(__file__))
"""


async def test_an_import_that_hangs_holds_up_its_own_run_alone(tmp_path: Path, gate: threading.Event) -> None:
    (tmp_path / "hang.py").write_text(HANG + GOOD)
    (tmp_path / "other").mkdir()
    for name in ("good.py", "other/hang.py"):
        (tmp_path / name).write_text(GOOD)
    async with runtime(tmp_path, import_limit_s=4.0) as (bench, host):
        hanging = await bench.decisions.start("hang.py:good", "go", by=ME)
        for ref in ("good.py:good", "other/hang.py:good"):
            await check_swarm(ref, tmp_path)
            assert (await bench.ended(await bench.decisions.start(ref, "go", by=ME))).output == "all is well"
        (incident,) = await bench.incidents(hanging)
        assert "hang.py, line 5" in incident.opened.message
        assert "4 s" in incident.opened.message
        # Another thread hangs in the file's first version for ever; the mended file is loaded all the same.
        (tmp_path / "hang.py").write_text(GOOD)
        assert (await bench.ended_by(incident, "retry")).output == "all is well"
        assert host.is_alive
    assert not host.is_alive


async def test_what_hangs_is_said_with_its_file_and_a_stop_does_not_wait_for_it(
    tmp_path: Path, gate: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "SLOW_IMPORT_S", 0.0)
    (tmp_path / "hang.py").write_text(HANG + GOOD)
    async with runtime(tmp_path) as (bench, host):
        run_id = await bench.decisions.start("hang.py:good", "go", by=ME)
        await begun(tmp_path / "hang.py")
        (held,) = host.blocked_runs
        assert held.run_id == run_id
        assert "hang.py, line 5" in held.reason
        assert held.reason.startswith("still importing ")
        assert host.held_up == "", "a slow import raises no alarm"
        assert host.slow.startswith(f"run {run_id}: still importing ")
        monkeypatch.setattr(imports, "LATE_IMPORT_S", 0.0)
        assert host.slow == ""
        assert f"run {run_id} cannot be carried on now" in host.held_up
        assert "has not come back" in host.held_up
        stopping = time.monotonic()
    assert not host.is_alive, f"the driving thread was left behind after {time.monotonic() - stopping:.0f} s"


async def test_a_check_of_a_file_that_hangs_ends_and_keeps_nobody_else_waiting(
    tmp_path: Path, gate: threading.Event
) -> None:
    (tmp_path / "hang.py").write_text(HANG + GOOD)
    (tmp_path / "good.py").write_text(GOOD)
    hanging = asyncio.create_task(check_swarm("hang.py:good", tmp_path, limit_s=0.5))
    await begun(tmp_path / "hang.py")
    assert await check_swarm("good.py:good", tmp_path) == f"{tmp_path.resolve()}/good.py:good"
    with pytest.raises(imports.ImportTimeoutError, match=r"hang\.py, line 5"):
        await hanging


async def test_a_slow_import_that_was_overtaken_is_loaded_again(tmp_path: Path, gate: threading.Event) -> None:
    """Two folders with a module of the same name: the slow one must not end up with the other's."""
    swarm = "import same_name\nclass Agent:\n    name = same_name.NAME\n    def run(self): ...\nagent = Agent()\n"
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same_name.py").write_text(f"NAME = {name!r}\n")
        (tmp_path / name / "swarm.py").write_text((HANG if name == "first" else "") + swarm)
    slow = asyncio.create_task(imports.load("first/swarm.py:agent", tmp_path))
    await begun(tmp_path / "first" / "swarm.py")
    assert (await imports.load("second/swarm.py:agent", tmp_path)).name == "second"
    gate.set()
    assert (await slow).name == "first"
