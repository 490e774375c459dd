"""Lives of runtimes in processes of their own, operators who answer them, and what must be true afterwards."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

from runtime.operations.decisions import Decisions
from runtime.record.inbox_row import InboxRow
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import RUN_TERMINAL, DurableRun, fold_events
from tests.console.forking import AS_LIVES, ForkedProgram
from tests.data import lives as lives_module
from tests.patience import PATIENCE_S
from tests.runtime.chaos.pairs import SERVER_ENV, Pair

ME = ev.Actor(name="tester", channel="cli")
SWARMS = Path(__file__).parents[2] / "data" / "swarms"
LIVES = Path(lives_module.__file__)


class Process:
    """A life, or an operator."""

    def __init__(self) -> None:
        self._pid: Future[int] = Future()
        self._status: Future[int] = Future()

    def hear(self, told: dict[str, Any]) -> None:
        (self._pid if "pid" in told else self._status).set_result(told.get("pid", told.get("status", 0)))

    async def status(self) -> int:
        """Its exit status; negative: the signal that it died by."""
        return await asyncio.wrap_future(self._status)

    def wait_for_end(self) -> None:
        """Blocks."""
        self._status.result(PATIENCE_S)

    async def signal(self, number: int) -> None:
        pid = await asyncio.wrap_future(self._pid)
        if not self._status.done():
            with suppress(ProcessLookupError):
                os.kill(pid, number)

    async def pid(self) -> int:
        return await asyncio.wrap_future(self._pid)


class ForkServer:
    """The process from which lives are forked, of all pairs. It is forked too: what it imports takes seconds."""

    def __init__(self) -> None:
        ready = Process()
        self._processes = {0: ready}
        root = LIVES.parents[2]
        its_stdin, stdin = os.pipe()
        stdout, its_stdout = os.pipe()
        self._stdin, self._stdout = os.fdopen(stdin, "w"), os.fdopen(stdout)
        env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
        try:
            self._process = ForkedProgram((), (its_stdin, its_stdout, 2), cwd=root, env=env, kind=AS_LIVES)
        finally:
            os.close(its_stdin)
            os.close(its_stdout)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        ready.wait_for_end()  # what it imports is not to be taken from the patience of the first test

    def _read(self) -> None:
        for line in self._stdout:
            told = json.loads(line)
            self._processes[told.pop("id")].hear(told)

    def begin(self, command: dict[str, Any]) -> Process:
        """Fork a process that carries out a command of `tests.data.lives`."""
        number = len(self._processes)
        process = self._processes[number] = Process()
        print(json.dumps({"id": number, **command}), file=self._stdin, flush=True)
        return process

    def close(self) -> None:
        self._stdin.close()
        assert self._process.wait(timeout=60) == 0
        with suppress(ProcessLookupError):  # those that a failed test left behind hold the pipe open
            os.killpg(self._process.pid, signal.SIGKILL)
        self._reader.join()
        self._process.close()
        self._stdout.close()


class Lives:
    """Lives on the journal and the engine of a pair."""

    def __init__(self, pair: Pair, server: ForkServer) -> None:
        self._pair = pair
        self._server = server

    def begin(self, do: str, state: Path, **more: Any) -> Process:
        """Fork a process that does something (see `tests.data.lives`) in a workspace."""
        address = {SERVER_ENV: os.environ[SERVER_ENV]} if SERVER_ENV in os.environ else {}
        env = {"ORBITER_TEST_EFFECTS": str(state / "effects"), **address, **more.pop("env", {})}
        pair = {"journal": self._pair.journal, "engine": self._pair.engine}
        return self._server.begin({"do": do, "state": str(state), "env": env, **pair, **more})

    async def live(self, state: Path, **more: Any) -> int:
        return await self.begin("live", state, **more).status()


class Place:
    """A workspace in a directory, with a journal of the pair under test."""

    def __init__(self, root: Path, pair: Pair, lives: Lives) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.pair = pair
        self.lives = lives
        self.journal: Journal

    async def __aenter__(self) -> Self:
        self.journal = await lives_module.named(self.pair.journal)(self.root, lives_module.Clock(self.root))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.journal.close()

    @property
    def decisions(self) -> Decisions:
        return Decisions(self.journal, self.root)

    @property
    def effects(self) -> Counter[str]:
        world = self.root / "effects"
        return Counter(world.read_text().splitlines()) if world.exists() else Counter()

    @property
    def said(self) -> list[dict[str, Any]]:
        path = self.root / "said"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def log(self) -> str:
        return (self.root / "log").read_text()

    async def start(self, ref: str, text: str = "go") -> str:
        file, _, name = ref.partition(":")
        return await self.decisions.start(f"{SWARMS / file}.py:{name}", text, by=ME)

    async def until(self, run: str, fact: Any) -> DurableRun:
        state = DurableRun()
        async with asyncio.timeout(PATIENCE_S):
            async for batch in self.journal.tail(run):
                for event in batch:  # a fact of a moment may begin and end within one batch
                    state.apply(event)
                    if fact(state):
                        return state
        raise AssertionError("the journal was closed")

    async def unfinished(self, runs: Sequence[str]) -> list[str]:
        summaries = [await self.journal.summary(run) for run in runs]
        return [each.id for each in summaries if each is not None and each.state not in RUN_TERMINAL]

    async def answer_all(self) -> int:
        """Answer what waits as a person would; returns how much was in doubt."""
        doubts = 0
        for incident in await self.journal.incidents():
            doubts += incident.opened.in_doubt
            option, params = answer_for(incident)
            await self.decisions.answer(incident.opened.incident_id, option, params, by=ME)
        return doubts

    async def to_the_end(
        self, runs: Sequence[str], *, lives: int = 12, always: Mapping[str, Any] = MappingProxyType({}), **first: Any
    ) -> tuple[int, int]:
        """Live, die, live on, answering what is asked, until all runs have ended. Returns how often it died, and how
        often something was in doubt. `first` is for the first life only.
        """
        died = doubts = 0
        for life in range(lives):
            status = await self.lives.live(self.root, **always, **(first if not life else {}))
            assert status in (0, -signal.SIGKILL), self.log
            died += status == -signal.SIGKILL
            doubts += await self.answer_all()
            if not await self.unfinished(runs):
                return died, doubts
        raise AssertionError(f"never ended: {[await self.journal.summary(run) for run in runs]}")


def answer_for(incident: InboxRow) -> tuple[str, dict[str, Any]]:
    """What a person would say: in doubt they have looked and it had happened; else what is asked for."""
    if incident.opened.in_doubt:
        return "result", {"value": "it had happened"}
    offered = [option.id for option in incident.opened.options]
    if "input" in offered:
        fields = (incident.opened.answer_schema or {}).get("properties")
        return "input", {"value": dict.fromkeys(fields, "the team") if fields else "the team"}
    return next(each for each in ("grant", "retry", "reset", "wait_retry") if each in offered), {}


def check(events: Sequence[ev.JournalEvent]) -> DurableRun:
    """What must be true of any run that has ended, whatever happened to the process that drove it."""
    state = fold_events(events)
    assert (state.phase, state.anomalies) == ("completed", 0)
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), "a gap"
    results = Counter(
        event.node_id
        for event in events
        if isinstance(event, ev.StepEnded) and (event.fault is None or event.absorbed) and event.by is None
    )
    assert not results or max(results.values()) == 1, "a step was recorded twice"
    answers = Counter(event.incident_id for event in events if isinstance(event, ev.IncidentAnswered))
    assert not answers or max(answers.values()) == 1, "an incident was answered twice"
    starts = Counter(event.node_id for event in events if isinstance(event, ev.StepStarted) and event.kind == "tool")
    for node_id, count in starts.items():
        node = state.nodes[node_id]
        # Begun again only if it may be, or after an operator was asked.
        assert count == 1 or node.idempotent or node.incidents, node_id
    for node in state.nodes.values():
        # No result at another's node: a tool's names its tool, and its call.
        if node.is_step and node.kind == "tool" and isinstance(node.result, dict) and "tools" not in node.result:
            assert node.result["tool_name"] == node.name.replace(".", "_")  # of an MCP server, the model has this name
            assert node.result["tool_call_id"] == node.requested["id"]
    return state


def check_effects(effects: Counter[str], expected: Counter[str], doubts: int, *, lives: int = 2) -> None:
    """What must not be repeated was done once, or an operator was asked; the rest at most once in each life."""
    for what, count in effects.items():
        limit = 1 if what.startswith(("note", "save")) else lives * max(1, expected[what])
        assert count <= limit, f"{what} was done {count} times"
    missing = expected - effects
    assert sum(missing.values()) <= doubts, f"never done and never asked about: {missing}"
