"""Stand-ins for the tests of the engine: models that follow a script, and a scope that records and recalls."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import pytest

from orbiter import steps, tool
from orbiter.models.types import ModelResponse, StreamChunk, ToolCallDelta
from orbiter.steps import Answer, Place, Scope, ScopeKind, Step, segment
from orbiter.types import Message, SystemMessage, ToolCall, Usage

A = TypeVar("A")
R = TypeVar("R")

ONE = Usage(input_tokens=10, output_tokens=5, total_tokens=15)

Reply = ModelResponse | Exception
Chunks = Sequence[StreamChunk | Exception]


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def skip_waits(monkeypatch: pytest.MonkeyPatch, *also: str) -> list[float]:
    """Let attempts follow each other at once, and note the seconds that would have been waited.

    `also`: further names of a function `sleep` that is replaced.
    """
    seen: list[float] = []
    really = asyncio.sleep

    async def sleep(seconds: float) -> None:
        seen.append(seconds)
        await really(0)

    for name in ("orbiter._internal.seam.direct_scope.sleep", *also):
        monkeypatch.setattr(name, sleep)
    return seen


def unchecked(kind: Any, **fields: Any) -> Any:
    """A value of a pydantic class that was made past its checks."""
    return kind.model_construct(**fields)


def text(content: str) -> ModelResponse:
    """A reply without tool calls."""
    return ModelResponse(content=content, usage=ONE)


def calls(*wanted: tuple[str, Mapping[str, Any] | str]) -> ModelResponse:
    """A reply that calls tools; arguments as a mapping, or as the raw text."""
    return ModelResponse(
        tool_calls=[
            ToolCall(id=f"call_{index}", name=name, arguments=given if isinstance(given, str) else json.dumps(given))
            for index, (name, given) in enumerate(wanted)
        ],
        usage=ONE,
        finish_reason="tool_calls",
    )


class Script:
    """A minimal provider: `complete` gives the replies in turn, and remembers what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.seen: list[list[Message]] = []
        self.tools: list[list[dict[str, Any]] | None] = []

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ModelResponse:
        self.seen.append(messages)
        self.tools.append(tools)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


class ByAgent:
    """A provider for several agents at once: the system message says who asks, the number of turns which reply it is.

    It keeps no position, so it answers the same in every life of a run.
    """

    def __init__(self, **replies: Sequence[Reply | Callable[[list[Message]], ModelResponse]]) -> None:
        self.replies = replies
        self.asked: Counter[str] = Counter()

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ModelResponse:
        first = messages[0]
        assert isinstance(first, SystemMessage)
        name = str(first.content).split()[0]
        last_user = max(index for index, message in enumerate(messages) if message.role == "user")
        turn = sum(message.role == "assistant" for message in messages[last_user:])
        self.asked[f"{name}~{turn}"] += 1
        reply = self.replies[name][turn]
        if isinstance(reply, Exception):
            raise reply
        return reply(messages) if callable(reply) else reply


class Stream:
    """A provider that streams rounds of chunks, and answers `complete` with a fixed text."""

    def __init__(self, *rounds: Chunks, complete: str = "whole") -> None:
        self.rounds = list(rounds)
        self.seen: list[list[Message]] = []
        self.closed = 0
        self._complete = complete

    async def stream(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> AsyncIterator[StreamChunk]:
        self.seen.append(messages)
        try:
            for chunk in self.rounds.pop(0):
                if isinstance(chunk, Exception):
                    raise chunk
                yield chunk
        finally:
            self.closed += 1

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> ModelResponse:
        return text(self._complete)


def said(*pieces: str) -> list[StreamChunk]:
    """A streamed answer."""
    return [*(StreamChunk(delta=piece) for piece in pieces), StreamChunk(finish_reason="stop", usage=ONE)]


def called(*wanted: tuple[str, Mapping[str, Any]]) -> list[StreamChunk]:
    """A streamed reply that calls tools, each call's arguments cut in two."""
    chunks: list[StreamChunk] = []
    for index, (name, given) in enumerate(wanted):
        whole = json.dumps(given)
        cut = len(whole) // 2
        first = ToolCallDelta(index=index, id=f"call_{index}", name=name, arguments=whole[:cut])
        chunks.append(StreamChunk(tool_call_deltas=[first]))
        chunks.append(StreamChunk(tool_call_deltas=[ToolCallDelta(index=index, arguments=whole[cut:])]))
    return [*chunks, StreamChunk(finish_reason="tool_calls", usage=ONE)]


class Crash(BaseException):
    """The process died."""


class Journal:
    """What a run's lives have in common: results by path, as JSON text."""

    def __init__(self) -> None:
        self.records: dict[str, str] = {}
        self.asked: dict[str, dict[str, Any]] = {}
        self.executed: Counter[str] = Counter()
        self.opened: list[str] = []
        self.outcomes: dict[str, tuple[str, str]] = {}
        self.warnings: list[str] = []
        self.answers: dict[str, list[Answer]] = {}
        self.faults: list[tuple[str, str, int | None]] = []
        self.crash_after: int | None = None
        self.visited: Counter[str] = Counter()


class Recording(Scope):
    """A durable scope in small: it records each step under its path, and recalls what is recorded."""

    __slots__ = ("_visits", "journal", "path")

    def __init__(self, journal: Journal, path: str = "") -> None:
        self.journal = journal
        self.path = path
        self._visits: Counter[str] = Counter()

    @property
    def run_id(self) -> str:
        return "run-1"

    @property
    def node_id(self) -> str:
        return self.path

    def scope(
        self, kind: ScopeKind, name: str, place: Place | None = None, info: Mapping[str, Any] | None = None
    ) -> Scope:
        if place is None:
            place = Place(self._visits[name])
            self._visits[name] += 1
        json.dumps(info)
        return Recording(self.journal, f"{self.path}/{kind}:{segment(name, place)}")

    async def __aenter__(self) -> Self:
        self.journal.opened.append(self.path)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        return None

    async def step(self, step: Step[A, R]) -> R:
        path = f"{self.path}/{step.kind}:{segment('llm' if step.kind == 'llm' else step.name, step.place)}"
        journal = self.journal
        asked = json.loads(json.dumps(step.codec.describe(step.arguments)))
        journal.visited[path] += 1
        if path in journal.records:
            assert asked == journal.asked[path], f"{path} asks for something else than before"
            return step.codec.load(json.loads(journal.records[path]))
        if journal.crash_after is not None and len(journal.records) >= journal.crash_after:
            raise Crash
        if step.before is not None:
            await step.before(step.arguments)
        try:
            with steps.entered(self):
                result = await step.call(step.arguments)
        except Exception as exc:
            absorbed = step.codec.absorb(step.arguments, exc)
            if absorbed is None:
                raise
            result = absorbed
        journal.executed[path] += 1
        if step.after is not None:
            await step.after(step.arguments, result)
        journal.asked[path] = asked
        journal.records[path] = json.dumps(step.codec.dump(result))
        return result

    async def fault(self, exc: Exception, *, at: int | None = None) -> Answer:
        self.journal.faults.append((self.path, str(exc), at))
        waiting = self.journal.answers.get(self.path)
        if not waiting:
            raise exc
        self._visits.clear()
        return waiting.pop(0)

    async def turn(self, number: int, messages: list[Message]) -> None:
        return None

    def outcome(self, output: str = "", *, state: Any = "succeeded", note: str = "") -> None:
        self.journal.outcomes[self.path] = (state, output)

    def warn(self, text: str) -> None:
        self.journal.warnings.append(text)
