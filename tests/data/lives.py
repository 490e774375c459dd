"""Lives of a runtime, each a process of its own: forked from one that has imported everything.

Reads commands as JSON lines and forks a process for each at once:

``{"id": 1, "do": "live", "state": DIR, …}`` drives the workspace until nothing is left to drive;
``{"id": 2, "do": "answer", "state": DIR, "incident": …, "option": …, "params": …, "times": 3}`` is an operator;
``{"id": 3, "do": "propose", "state": DIR, "incident": …, "option": …, "params": …}`` is an agent that proposes.

Tells ``{"id": 0, "status": 0}`` when it has imported everything, ``{"id": 1, "pid": …}`` when a life has begun and
``{"id": 1, "status": …}`` (negative: a signal) when it has ended. What a life has to say stands in the file `said` of
its directory. What a life that came to its end imported is imported here too, so that the next one has it.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import resource
import selectors
import signal
import sys
import time
from contextlib import AsyncExitStack, suppress
from datetime import datetime, timedelta, tzinfo
from importlib import import_module
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import agents.testing
import langchain.agents
import pydantic_ai.models.function
from pydantic import BaseModel

import orbiter.models.scripted.provider
import orbiter.swarm
from orbiter.json_schema import find_problems
from orbiter.mcp.approvals import ApprovalFile
from orbiter.mcp.table import WORKSPACE_FILE, ServerTable
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.faults.rules.builtin import builtin_rules
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.judgement.traces.span import TraceSettings
from runtime.operations.decisions import Decisions
from runtime.record.journal import AnswerAccepted, AnswerRefused, Journal
from runtime.record.state import clock as state_clock
from runtime.record.state import events
from runtime.record.state.events import Actor, utc_now
from runtime.swarms import module_reload
from runtime.swarms.compiled_source import OnceCompiledLoader
from runtime.testing.drills.call_log import CallLog
from runtime.testing.drills.drill_file import parse_drill
from runtime.testing.drills.injected_faults import drilled
from runtime.worker.supervisor import Supervisor

assert orbiter.models.scripted.provider is not None
assert orbiter.swarm is not None
assert langchain.agents is not None
assert agents.testing is not None
assert pydantic_ai.models.function is not None  # all are imported once, not in every life

SQLITE = "tests.runtime.chaos.pairs:sqlite"
LOCAL = "tests.runtime.chaos.pairs:local"
SWARMS = (Path(__file__).parent / "swarms").resolve()
LOOK_S = 0.025
"""How often a life looks whether something is left to drive. More often took a fifth of the CPU of the lives."""


def named(reference: str) -> Any:
    module, _, attribute = reference.partition(":")
    return getattr(import_module(module), attribute)


def say(state: Path, **what: Any) -> None:
    with (state / "said").open("a", encoding="utf-8") as said:
        said.write(json.dumps({"pid": os.getpid(), **what}) + "\n")


class Clock:
    """The computer's clock, set by so many seconds as the file `clock` says."""

    def __init__(self, state: Path) -> None:
        self._path = state / "clock"

    def __call__(self) -> datetime:
        text = self._path.read_text() if self._path.exists() else ""
        return utc_now() + timedelta(seconds=float(text or 0))


def skew(seconds: float) -> None:
    """Let the clock of this process's machine be wrong by so many seconds. It is read in one place."""

    class Skewed(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Skewed:
            return cls.fromtimestamp(time.time() + seconds, tz)

    vars(state_clock)["datetime"] = Skewed


async def opened(stack: AsyncExitStack, state: Path, command: dict[str, Any]) -> Journal:
    clock = None if "skew_s" in command else Clock(state)
    journal: Journal = await named(command.get("journal", SQLITE))(state, clock)
    stack.push_async_callback(journal.close)
    return journal


def mcp_servers(state: Path) -> ServerTable | None:
    """The MCP servers of the workspace, where it has some; what is approved stands beside them."""
    return ServerTable(str(state), ApprovalFile(state / "approvals")) if (state / WORKSPACE_FILE).exists() else None


async def live(state: Path, command: dict[str, Any]) -> None:
    async with AsyncExitStack() as stack:
        journal = await opened(stack, state, command)
        config = ExecutionConfig(
            workspace=str(state),
            mcp=mcp_servers(state),
            policy=RetryPolicy(max_attempts=command.get("max_attempts", 4), base=0.01, max_retry_delay=0.05),
            grace_s=command.get("grace_s", 0.0),
            traces=TraceSettings() if command.get("traces") else None,
            code=command.get("code", ""),
        )
        if "drill" in command:
            config = drilled(config, parse_drill(command["drill"], "drills.toml"), CallLog(state / "calls.jsonl"))
        supervisor = Supervisor(
            journal,
            config,
            clock=None if "skew_s" in command else Clock(state),
            # A dead driver's lease must run out before the next life may take over: short, or the tests only wait.
            lease_s=command.get("lease_s", 0.05),
            period_s=LOOK_S,
            engine=named(command.get("engine", LOCAL))(
                journal, state, code=config.code, **command.get("engine_options", {})
            ),
        )
        serving = asyncio.create_task(supervisor.serve())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, supervisor.stop)
        if command.get("file_bytes"):
            limited = asyncio.create_task(disk_full(state, command["file_bytes"]))
        stay = command.get("stay", False)
        try:
            while not serving.done() and (  # noqa: ASYNC110 - told by a file
                stay or supervisor.driving or await journal.runs(states=("queued", "running"))
            ):
                await asyncio.sleep(LOOK_S)
        finally:
            supervisor.stop()
            await serving
            if command.get("file_bytes"):
                limited.cancel()


async def propose(state: Path, command: dict[str, Any]) -> None:
    """An agent, always the same."""
    by = Actor(name="Claude Code (ada)", channel="mcp")
    async with AsyncExitStack() as stack:
        decisions = Decisions(await opened(stack, state, command), state)
        await decisions.propose(command["incident"], command["option"], command.get("params", {}), reason="so", by=by)


async def disk_full(state: Path, file_bytes: int) -> None:
    """No file may grow beyond so many bytes, until a while after that was noticed."""
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, most))
    log = state / "log"
    while "cannot be written" not in log.read_text():  # noqa: ASYNC110 - told by a file
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    say(state, full=file_bytes)


async def answer(state: Path, command: dict[str, Any]) -> None:
    """An operator who is not sure that it was heard, and says it again."""
    by = Actor(name=f"operator {os.getpid()}", channel="cli")
    async with AsyncExitStack() as stack:
        decisions = Decisions(await opened(stack, state, command), state)
        for _ in range(command.get("times", 1)):
            outcome = await decisions.answer(command["incident"], command["option"], command.get("params", {}), by=by)
            assert isinstance(outcome, AnswerAccepted | AnswerRefused)
            first = outcome.first.by.name if isinstance(outcome, AnswerRefused) and outcome.first is not None else ""
            say(
                state,
                incident=command["incident"],
                accepted=isinstance(outcome, AnswerAccepted),
                first=first,
                by=by.name,
            )


def child(command: dict[str, Any]) -> None:
    os.environ.update(command.get("env", {}))
    state = Path(command["state"])
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    (state / "log").touch()
    # Appended in one write each, and to a file that no limit of this process is for.
    logging.basicConfig(filename=state / "log", level=logging.INFO, format="%(process)d %(message)s")
    if command.get("skew_s"):
        skew(command["skew_s"])
    if command.get("die_after"):
        os.environ["ORBITER_DIE_AFTER_APPENDS"] = str(command["die_after"])
    asyncio.run({"live": live, "answer": answer, "propose": propose}[command["do"]](state, command))


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def reap(children: dict[int, int], imported: Path) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        tell(id=children.pop(pid), status=os.waitstatus_to_exitcode(status))
        if (names := imported / str(pid)).exists():
            for name in names.read_text().split():
                with suppress(ImportError):  # the user's code, which has its own name in each life
                    import_module(name)
            names.unlink()
            build()
            gc.freeze()


def build() -> None:
    """Build what is built at its first use, once and not in every life: pydantic's models, a third of what a short life
    takes, the rules that judge a failure, and what checks arguments.
    """
    builtin_rules()
    find_problems({"type": "object"}, {})
    waiting: list[type[BaseModel]] = [BaseModel]
    while waiting:
        found = waiting.pop()
        waiting.extend(found.__subclasses__())
        if not found.__pydantic_complete__ and found.__module__.partition(".")[0] in ("orbiter", "runtime"):
            found.model_rebuild(raise_errors=False)
    for kind in events.EVENT_CLASSES:
        events.decoder_of(kind)


def compile_swarms() -> None:
    """Compile the swarms' files. Each life executes them again, and compiles only what is not as it was here."""
    for file in SWARMS.glob("*.py"):
        OnceCompiledLoader(file.stem, str(file)).get_code(file.stem)


def look_at_modules(state: Path) -> None:
    """Look which modules are those of the workspace, as each load of a swarm does. There are thousands, and a process
    that has just been forked copies the pages of all that it looks at: it took a quarter of a short life.
    """
    module_reload.record_imports(state, state.resolve(), SWARMS, since=module_reload.import_instant())


def main() -> None:
    build()
    compile_swarms()
    gc.freeze()  # or each life looks through all that is imported here, and copies its pages
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    children: dict[int, int] = {}
    typed = b""
    with selectors.DefaultSelector() as waiting, TemporaryDirectory() as directory:
        imported = Path(directory)
        waiting.register(0, selectors.EVENT_READ)
        waiting.register(reading, selectors.EVENT_READ)
        tell(id=0, status=0)
        while True:
            ready = {key.fd for key, _ in waiting.select()}
            if reading in ready:
                os.read(reading, 4096)
                reap(children, imported)
            if 0 not in ready:
                continue
            piece = os.read(0, 65536)
            if not piece:
                return
            *lines, typed = (typed + piece).split(b"\n")
            for line in lines:
                command = json.loads(line)
                if command["do"] == "live":
                    look_at_modules(Path(command["state"]))
                pid = os.fork()
                if pid == 0:
                    code = 1
                    try:
                        signal.set_wakeup_fd(-1)
                        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                        before = len(sys.modules)
                        child(command)
                        # The last of them only: to look at each would copy the pages of thousands of names.
                        names = islice(reversed(sys.modules), max(0, len(sys.modules) - before))
                        (imported / str(os.getpid())).write_text(" ".join(names))
                        code = 0
                    except BaseException:
                        logging.getLogger("life").exception("a life ended with an error")
                    finally:
                        os._exit(code)
                children[pid] = command["id"]
                tell(id=command["id"], pid=pid)
                reap(children, imported)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))
    main()
