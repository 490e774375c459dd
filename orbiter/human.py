"""A tool with which a model asks a person.

Under a runtime the question goes to the operators (see `orbiter.ask`): the tool waits, the answer is recorded. Under
plain `run` a handler asks; without one, the model is told that no person can be asked.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Any, TextIO

from orbiter import steps
from orbiter._internal.keywords import name_nearest_keyword
from orbiter.ask import ask_operator
from orbiter.errors import ToolError
from orbiter.steps import Traits
from orbiter.tool import Tool

__all__ = ["ConsoleHandler", "HumanInputHandler", "HumanInputTool"]


class HumanInputHandler(ABC):
    """Where answers come from."""

    @abstractmethod
    async def get_input(self, prompt: str, choices: Sequence[str] | None = None) -> str:
        """The person's answer to `prompt`. Should be one of `choices`, if there are any."""


class ConsoleHandler(HumanInputHandler):
    """Asks at the terminal.

    The line is read in a thread of its own that does not outlive the process; a question that is given up leaves the
    thread waiting for the next line, which is then dropped.

    Args:
        stdin: Where lines are read.
        stdout: Where questions are written.
    """

    def __init__(self, stdin: TextIO | None = None, stdout: TextIO | None = None) -> None:
        self._stdin = stdin
        self._stdout = stdout

    async def get_input(self, prompt: str, choices: Sequence[str] | None = None) -> str:
        """The next line, without its end.

        Raises:
            ToolError: Input has ended.
        """
        out = self._stdout or sys.stdout
        offered = f" [{'/'.join(choices)}]" if choices else ""
        out.write(f"{prompt}{offered} ")
        out.flush()
        line = await _in_thread((self._stdin or sys.stdin).readline)
        if not line:
            raise ToolError("The question cannot be answered: standard input has ended")
        return line.rstrip("\r\n")


class HumanInputTool(Tool):
    """``human_input``: the model asks, a person answers.

    An answer that is not one of the choices is asked for again, and never read as another.

    Args:
        handler: Asks under plain `run`; None: the model is told that no person can be asked.
        timeout: Seconds to wait for an answer under plain `run`; None: no limit.
        name: The tool's name.
        description: What the model is told of it.

    Examples:
        >>> from orbiter import Agent, HumanInputTool
        >>> agent = Agent(name="clerk", tools=[HumanInputTool(timeout=60.0)])
        >>> list(agent.tools)
        ['human_input']
    """

    @name_nearest_keyword("HumanInputTool")
    def __init__(
        self,
        handler: HumanInputHandler | None = None,
        timeout: float | None = None,
        *,
        name: str = "human_input",
        description: str = "Ask a person a question, for what only a person can know or decide.",
    ) -> None:
        self.handler = handler
        self.timeout = timeout
        self.name = name
        self.description = description
        self.parameters = {
            "type": "object",
            "properties": {
                "prompt": {"type": "string", "description": "The question."},
                "choices": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "The possible answers, if few.",
                },
            },
            "required": ["prompt"],
        }
        # Asking is recorded by itself, so the tool may be run again to get the recorded answer.
        self.traits = Traits(idempotent=True, schema=self.parameters)

    async def execute(self, **kwargs: Any) -> str:
        """Ask.

        Raises:
            ToolError: ``Human input request timed out``, or no person can be asked.
        """
        prompt: str = kwargs["prompt"]
        choices: list[str] = list(kwargs.get("choices") or ())
        if steps.inside():
            return str(await self._ask_operator(prompt, choices))
        if self.handler is None:
            raise ToolError(
                "The question cannot be asked: this tool has no handler", hint="Give HumanInputTool a handler."
            )
        try:
            async with asyncio.timeout(self.timeout):
                return await self._ask_handler(self.handler, prompt, choices)
        except TimeoutError as exc:
            raise ToolError("Human input request timed out") from exc

    async def _ask_operator(self, prompt: str, choices: list[str]) -> Any:
        schema = {"type": "string", "enum": choices} if choices else None
        question = prompt
        number = 0
        while True:
            answer = await ask_operator(question, schema, number=number)
            if not choices or str(answer) in choices:
                return answer
            number += 1
            question = _ask_again(prompt, choices)

    async def _ask_handler(self, handler: HumanInputHandler, prompt: str, choices: list[str]) -> str:
        question = prompt
        while True:
            answer = (await handler.get_input(question, choices or None)).strip()
            if not choices or answer in choices:
                return answer
            question = _ask_again(prompt, choices)


def _ask_again(prompt: str, choices: Sequence[str]) -> str:
    return f"{prompt} (please answer with one of: {', '.join(choices)})"


async def _in_thread(read: Callable[[], str]) -> str:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[str] = loop.create_future()

    def settle(line: str | None, error: BaseException | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(line or "")

    def work() -> None:
        try:
            line: str | None = read()
            error: BaseException | None = None
        except Exception as exc:
            line, error = None, exc
        try:
            loop.call_soon_threadsafe(settle, line, error)
        except RuntimeError:
            return  # the loop is closed, and with it the call that asked

    threading.Thread(target=copy_context().run, args=(work,), name="orbiter-console-input", daemon=True).start()
    return await future
