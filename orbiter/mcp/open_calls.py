"""Calls that a server works on, and the questions that it asks in the middle of one (before 2026-07-28).

Such a question does not say for which call it is. Over HTTP it comes with the call's own stream; over standard
streams it belongs to the only call under way. Where several are under way it belongs to none of them for sure: it is
refused, and from then on this server gets one call at a time, so that the next question has a place.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True, eq=False)
class Question:
    """A question of a server, and where its answer is awaited."""

    params: Any
    answer: asyncio.Future[Any]

    async def answer_with(self, ask: Callable[[Any], Awaitable[Any]]) -> None:
        """Ask, and hand the answer on. Where asking fails nothing is handed on: the call ends."""
        given = await ask(self.params)
        if not self.answer.done():
            self.answer.set_result(given)


@dataclass(slots=True, eq=False)
class OpenCall:
    """One call under way."""

    inbox: asyncio.Queue[Question] = field(default_factory=asyncio.Queue)
    asking: bool = False
    """A person is asked: the call may take days."""

    def start(self, sending: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Send it in a task of its own, by whose context a question is known to be this call's."""
        token = _serving.set(self)
        try:
            return asyncio.create_task(sending)
        finally:
            _serving.reset(token)

    async def next_question(self, sent: asyncio.Task[Any], ended: asyncio.Event, left: float) -> Question | None:
        """The next question; None where the call or the connection has ended, or `left` seconds are over."""
        getting = asyncio.ensure_future(self.inbox.get())
        ending = asyncio.ensure_future(ended.wait())
        try:
            await asyncio.wait({sent, getting, ending}, timeout=max(0.0, left), return_when=asyncio.FIRST_COMPLETED)
            return getting.result() if getting.done() and not sent.done() else None
        finally:
            getting.cancel()
            ending.cancel()


_serving: ContextVar[OpenCall | None] = ContextVar("orbiter_mcp_call", default=None)


class OpenCalls:
    """The calls under way on one connection."""

    def __init__(self) -> None:
        self._open: list[OpenCall] = []
        self._one_at_a_time = False
        self._turn = asyncio.Lock()

    @property
    def held(self) -> bool:
        """Whether a call holds the connection while a person is asked: others should use another."""
        return any(each.asking for each in self._open)

    @asynccontextmanager
    async def enter(self, *, serial: bool) -> AsyncIterator[OpenCall]:
        """A call, while it is under way. `serial`: the server may ask in the middle of it."""
        async with self._turn if serial and self._one_at_a_time else nullcontext():
            mine = OpenCall()
            self._open.append(mine)
            try:
                yield mine
            finally:
                self._open.remove(mine)

    async def put(self, params: Any) -> Any:
        """The answer to a question of the server; None where it cannot be known whose it is."""
        mine = _serving.get()
        if mine not in self._open:
            mine = self._open[0] if len(self._open) == 1 else None
        if mine is None:
            self._one_at_a_time = True
            return None
        question = Question(params, asyncio.get_running_loop().create_future())
        mine.asking = True
        mine.inbox.put_nowait(question)
        try:
            return await question.answer
        finally:
            mine.asking = False
