"""Who answers incidents in the linear mode: the person at the terminal, or a rule that stands in for one.

An operator is asked about one incident at a time. It may be interrupted: somebody else may answer first.
"""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import sys
import termios
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

from console.output import note, prompt
from runtime.record.events import Actor, IncidentOpened, Option
from runtime.record.state import RunState

ARM_S = 0.4
"""What is typed sooner than this after the question cannot have been meant for it (facts, consoles 2.1 rule 2)."""


@dataclass(frozen=True, slots=True)
class Given:
    """An answer on its way to the desk."""

    option: str
    params: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


class Operator(Protocol):
    """Somebody who decides. `by` is what the journal will say of him."""

    @property
    def by(self) -> Actor: ...

    async def decide(self, state: RunState, opened: IncidentOpened) -> Given | None:
        """The answer, or None: the incident stays open, and nobody waits for it here any longer."""
        ...


def has_person() -> bool:
    """Whether somebody can be asked: a terminal to read from and one to ask on."""
    return sys.stdin.isatty() and sys.stderr.isatty()


class PersonAtTerminal:
    """Asks on stderr, reads from stdin. Lines typed before a question are thrown away, and said to be."""

    def __init__(self) -> None:
        self.by = Actor(name=getpass.getuser(), channel="cli")
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        # A daemon: reading from a terminal cannot be called off, and must not keep the process alive.
        threading.Thread(target=self._read, name="terminal", daemon=True).start()

    def _read(self) -> None:
        # Past sys.stdin's buffer: its lock, held by a thread that waits, is in the way of the interpreter's end.
        typed = b""
        while piece := os.read(sys.stdin.fileno(), 4096):
            *lines, typed = (typed + piece).split(b"\n")
            for line in lines:
                self._put(line.decode(errors="replace").strip())
        self._put(None)

    def _put(self, line: str | None) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody asks any more
            self._loop.call_soon_threadsafe(self._lines.put_nowait, line)

    async def decide(self, state: RunState, opened: IncidentOpened) -> Given | None:
        """Ask until there is an answer; None at the end of input."""
        numbers = {str(number): option for number, option in enumerate(opened.options, 1)}
        names = {option.id: option for option in opened.options}
        while True:
            line = await self._ask(f"answer to {opened.incident_id} [1-{len(numbers)} or its word, q to leave it]:")
            if line is None or line == "q":
                return None
            option = numbers.get(line) or names.get(line)
            if option is None:
                note(f"that is none of: {', '.join(names)}")
                continue
            params = await self._params(option)
            if params is not None:
                return Given(option.id, params)

    async def _params(self, option: Option) -> dict[str, Any] | None:
        """What the option needs; None if the person thought better of it."""
        if option.id == "grant":
            line = await self._ask("for how long? once, run, swarm or always (Enter: not at all):")
            return {"for": line} if line else None
        if option.needs == "text":
            line = await self._ask("text (Enter: none):")
            return None if line is None else {"value": line}
        if option.needs == "model":
            line = await self._ask("model, as provider:name (Enter: back):")
            return {"model": line} if line else None
        if option.needs == "arguments":
            return await self._arguments()
        return {}

    async def _arguments(self) -> dict[str, Any] | None:
        line = await self._ask("arguments, as a JSON object (Enter: back):")
        if not line:
            return None
        try:
            found = json.loads(line)
        except ValueError as exc:
            note(f"that is no JSON: {exc}")
            return None
        if not isinstance(found, dict):
            note("that is JSON, but no object")
            return None
        return {"arguments": found}

    async def _ask(self, question: str) -> str | None:
        self._forget_typed()
        prompt(question)
        armed = self._loop.time() + ARM_S
        while True:
            line = await self._lines.get()
            if line is None:
                self._lines.put_nowait(None)  # the end of input stays the end
                return None
            if self._loop.time() >= armed:
                return line
            note("ignored a line that was typed before the question could be read")
            prompt(question)

    def _forget_typed(self) -> None:
        if sys.stdin.isatty():
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        ended = False
        while not self._lines.empty():
            ended = self._lines.get_nowait() is None or ended
        if ended:
            self._lines.put_nowait(None)
