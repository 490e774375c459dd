"""Asking the operator from inside a tool.

`ask_operator` is a step of its own: under a runtime the tool waits while a person is asked, the answer is recorded,
and a tool that runs again after a crash gets the same answer without a second question. Under plain `run` no one can
be asked: the question comes back to the model as the tool's error.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orbiter import steps
from orbiter.errors import ToolError


class NeedsInput(Exception):
    """Something only a person knows is missing. `schema` is a JSON schema of the answer; None: free text."""

    def __init__(self, question: str, schema: Mapping[str, Any] | None = None) -> None:
        super().__init__(f"input is needed from a person: {question}")
        self.question = question
        self.schema = schema


class InputDeclined(ToolError):
    """The operator left a question unanswered; an empty one is an answer. In a tool: the error that the model gets."""

    def __init__(self, question: object = "") -> None:
        super().__init__(
            f"The operator did not answer: {question}", hint="Go on without the answer, or say why you cannot."
        )


class _AskCodec(steps.Codec[tuple[str, Mapping[str, Any] | None], Any]):
    def describe(self, arguments: tuple[str, Mapping[str, Any] | None]) -> dict[str, Any]:
        return {"question": arguments[0]}

    def dump(self, result: Any) -> Any:
        return result

    def load(self, value: Any) -> Any:
        return value


_ASK = _AskCodec()


async def _ask(arguments: tuple[str, Mapping[str, Any] | None]) -> Any:
    raise NeedsInput(*arguments)


async def ask_operator(question: str, schema: Mapping[str, Any] | None = None, *, number: int = 0) -> Any:
    """Ask a person and return the answer: text, or a value of `schema`.

    `number` tells several questions of one tool call apart where their texts do not. A tool that asks should be
    ``idempotent=True`` if it does nothing else that must not happen twice: then its run need not stay in memory.

    Raises:
        NeedsInput: there is no operator to ask (plain `run`).
        InputDeclined: the operator left the question unanswered.
    """
    step = steps.Step(
        kind="value",
        name="ask",
        agent="",
        place=steps.Place(number),
        arguments=(question, schema),
        call=_ask,
        codec=_ASK,
    )
    return await steps.current().step(step)
