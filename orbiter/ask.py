"""Asking the operator from inside a tool: for an input, or for a permission.

`ask_operator` is a step of its own: under a runtime the tool waits while a person is asked, the answer is recorded,
and a tool that runs again after a crash gets the same answer without a second question. Under plain `run` no one can
be asked: the question comes back to the model as the tool's error.

`require_permission` raises where a permission is missing. A runtime then asks for it, and does the call again once it
is granted; `is_granted` is how the second attempt knows.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from functools import update_wrapper
from typing import Any, Generic, ParamSpec, TypeVar

from orbiter import steps
from orbiter._internal.arguments import MAPPING, TEXT, check_argument, check_json
from orbiter._internal.worker_threads import pool
from orbiter.errors import AgentPermissionError, PermissionError, ToolError  # noqa: A004 - seed 003 names it so

P = ParamSpec("P")
R = TypeVar("R")
_INVOKE = "agent.invoke:"


class NeedsInput(Exception):
    """Something only a person knows is missing.

    Args:
        question: What is asked.
        schema: JSON schema of the answer; None: free text. Consoles make a form of it.
        url: An address that the person is asked to open. It is shown as text and never opened by the program.

    Raises:
        TypeError: The question or the address is not a text, or the schema is not JSON.

    Examples:
        >>> from orbiter import NeedsInput
        >>> NeedsInput("Which account?", {"type": "string", "enum": ["main", "test"]}).question
        'Which account?'
    """

    def __init__(self, question: str, schema: Mapping[str, Any] | None = None, *, url: str = "") -> None:
        _check_question(question, schema, url)
        super().__init__(f"input is needed from a person: {question}{f' ({url})' if url else ''}")
        self.question = question
        self.schema = schema
        self.url = url


def _check_question(question: object, schema: object, url: object) -> None:
    """Refuse in the tool what could not be recorded, or shown to a person."""
    check_argument("A question", "question", question, TEXT, example="'Which account?'", error=TypeError)
    check_argument("A question", "url", url, TEXT, example="'https://example.org/sign-in'", error=TypeError)
    if schema is None:
        return
    check_argument("A question", "schema", schema, MAPPING, example="{'type': 'integer'}", error=TypeError)
    check_json("A question", "schema", schema, example="{'type': 'integer'}", error=TypeError)


class InputDeclined(ToolError):
    """The operator left a question unanswered; an empty one is an answer. In a tool: the error that the model gets.

    Args:
        question: What was asked.
    """

    def __init__(self, question: object = "") -> None:
        super().__init__(
            f"The operator did not answer: {question}", hint="Go on without the answer, or say why you cannot."
        )


_Question = tuple[str, Mapping[str, Any] | None, str]
"""Question, schema of the answer, and the address to open."""


class _AskCodec(steps.Codec[_Question, Any]):
    def describe(self, arguments: _Question) -> dict[str, Any]:
        question, _, url = arguments
        return {"question": question, "url": url} if url else {"question": question}

    def dump(self, result: Any) -> Any:
        return result

    def load(self, value: Any) -> Any:
        return value


_ASK = _AskCodec()


async def _ask(arguments: _Question) -> Any:
    question, schema, url = arguments
    raise NeedsInput(question, schema, url=url)


async def ask_operator(
    question: str, schema: Mapping[str, Any] | None = None, *, number: int = 0, url: str = ""
) -> Any:
    """Ask a person, from inside a tool, and return the answer.

    A tool that asks should be ``idempotent=True`` if it does nothing else that must not happen twice: then its run need
    not stay in memory while it waits.

    Args:
        question: What is asked.
        schema: JSON schema of the answer, of which consoles make a form; None: free text.
        number: Tells several questions of one tool call apart where their texts do not.
        url: An address that the person is asked to open. It is shown, and never opened by the program.

    Returns:
        The answer: text, or a value that fits `schema`.

    Raises:
        NeedsInput: no operator can be asked, as in plain `run`.
        TypeError: The question, the schema or the address is of the wrong kind.
        InputDeclined: the operator left the question unanswered.

    Examples:
        >>> from orbiter import ask_operator, tool
        >>> @tool(idempotent=True)
        ... async def shipping_address(order: str) -> str:
        ...     "The address that an order goes to."
        ...     return await ask_operator(f"Where does order {order} go?")
        >>> shipping_address.name
        'shipping_address'
    """
    _check_question(question, schema, url)
    step = steps.Step(
        kind="value",
        name="ask",
        agent="",
        place=steps.Place(number),
        arguments=(question, schema, url),
        call=_ask,
        codec=_ASK,
    )
    return await steps.current().step(step)


class _Permissions(Generic[P, R]):
    """A coroutine function with `sync`, for tools that are not asynchronous."""

    def __init__(self, function: Callable[P, Coroutine[Any, Any, R]]) -> None:
        self._function = function
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Coroutine[Any, Any, R]:
        return self._function(*args, **kwargs)

    def sync(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """The same, for a tool that is not asynchronous.

        Raises:
            RuntimeError: Called elsewhere than in such a tool; use ``await`` there.
        """
        return pool.run_on_loop(self._function(*args, **kwargs))


@_Permissions
async def is_granted(permission: str) -> bool:
    """Whether the code that asks may do what a permission names: by configuration, or because it was granted.

    Args:
        permission: ``verb:object``, for example ``fs.write:/srv/report.md``, or a bare verb. It is compared in its
            canonical form, as a tool's declared permissions are.

    Returns:
        False under plain `run`, where a person cannot be asked.

    Raises:
        OrbiterError: The text is not a permission.
        TypeError: It is not a text.

    Examples:
        >>> import asyncio
        >>> from orbiter import is_granted
        >>> asyncio.run(is_granted("fs.write:/srv/report.md"))
        False
    """
    example = "'fs.write:/srv/report.md'"
    check_argument("A permission", "permission", permission, TEXT, example=example, error=TypeError)
    return await steps.current().granted(permission)


@_Permissions
async def require_permission(permission: str, reason: str = "") -> None:
    """Go on only where a permission is granted. Call it before the first effect: after a grant the call is done again.

    Args:
        permission: As for `is_granted`.
        reason: Why it is needed, for the person who is asked.

    Raises:
        PermissionError: It is not granted; for ``agent.invoke:NAME`` an `AgentPermissionError`. In a tool let it pass:
            a runtime asks for the permission, and does the call again once it is granted.
        OrbiterError: The text is not a permission.
        TypeError: It is not a text.

    Examples:
        >>> from orbiter import require_permission, tool
        >>> @tool
        ... async def write_report(path: str, text: str) -> str:
        ...     "Write the report."
        ...     await require_permission(f"fs.write:{path}", "the report is written there")
        ...     return f"{len(text)} characters written"
        >>> write_report.name
        'write_report'
    """
    if await is_granted(permission):
        return
    text = f"the permission {permission} is missing{reason and f': {reason}'}"
    if permission.startswith(_INVOKE):
        raise AgentPermissionError(text, permission=permission, target_agent=permission.removeprefix(_INVOKE))
    raise PermissionError(text, permission=permission)
