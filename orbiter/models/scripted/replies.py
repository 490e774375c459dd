"""What a scripted model says: replies, tool calls and faults, by position in the conversation.

The position is the number of assistant messages in the conversation, never a counter of calls: a run that another
process takes up again gets the same replies at the same places. Only the attempts at one place are counted, in this
process, so that "429, then 503 twice, then an answer" can be written down; a delivered answer sets them back to zero.
"""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from inspect import isawaitable
from string import Template
from typing import Any, Literal, get_args

from orbiter.models.scripted.fault_check import check_fault
from orbiter.models.types import FinishReason, ModelError
from orbiter.types import AssistantMessage, Message, SystemMessage, ToolResult, Usage, UserMessage, content_text

FaultKind = Literal["response", "stream", "truncated", "silence", "disconnect", "refused"]


@dataclass(slots=True, frozen=True)
class Call:
    """A tool call that the model makes. `arguments` is a mapping, or JSON text just as a model might botch it.

    Attributes:
        name: The tool's name.
        arguments: A mapping, or JSON text as the model wrote it.
    """

    name: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    id: str = ""
    """Made from the conversation if not given."""


@dataclass(slots=True, frozen=True)
class Reply:
    """One reply. In `text`, ``${input}`` stands for the last user message and ``${result}`` for the last tool result.

    Args:
        text: The answer.
        calls: Tool calls, carried out side by side.
        reasoning: Thoughts before the answer.
        finish_reason: Why the model stopped; if not given, `tool_calls` where there are calls, else `stop`.
        usage: Tokens; if not given, counted from the texts: four characters to a token.
        delay: Seconds before the first piece.
        pace: Seconds between pieces (words). `complete` takes as long as the stream would.
    """

    text: str = ""
    calls: Sequence[Call] = ()
    reasoning: str = ""
    finish_reason: FinishReason | None = None
    usage: Usage | None = None
    delay: float = 0.0
    pace: float = 0.0


@dataclass(slots=True, frozen=True)
class Fault:
    """One failure, told as the real providers tell it: same `ModelError`, same fields.

    Args:
        status: HTTP status of the answer. Ignored by the kinds without an answer.
        headers: Headers of the answer, such as ``{"retry-after": "1"}``.
        body: The answer's body: JSON as a mapping, or text (an HTML page). If not given, one is made of `message`,
            `type` and `code`, in the shape that OpenAI, Anthropic and most others use.
        message: The provider's words.
        type: The provider's own error type.
        code: The provider's own error code.
        kind: What happens. `response`: an error response. `stream`: an error event after `after` pieces of `text`.
            `truncated`: the stream ends there without a stop reason. `disconnect`: the connection breaks there.
            `silence`: nothing more comes there, until the deadline. `refused`: no connection at all.
        text: What had come before a failure inside the stream.
        after: How many pieces (words) of `text` come through.
        seconds: Of `silence`: the deadline to use instead of the provider's own.

    Raises:
        TypeError: A field is of another kind, or the status is not one of HTTP.
    """

    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | str | None = None
    message: str = ""
    type: str = ""
    code: str = ""
    kind: FaultKind = "response"
    text: str = ""
    after: int = 1
    seconds: float | None = None

    def __post_init__(self) -> None:
        check_fault(self, get_args(FaultKind))

    def body_text(self) -> str:
        """The body as it goes over the wire."""
        if isinstance(self.body, str):
            return self.body
        if self.body is not None:
            return json.dumps(self.body, ensure_ascii=False)
        if not (self.message or self.type or self.code):
            return ""
        error = {"message": self.message, "type": self.type or None, "code": self.code or None}
        return json.dumps({"error": error}, ensure_ascii=False)


ScriptedTurn = Reply | Fault | str
Turn = ScriptedTurn | Sequence[ScriptedTurn]
"""What is said at one position: a reply (a string is one), a fault, or one of them for each attempt in turn."""
ScriptFunction = Callable[[list[Message], list[dict[str, Any]]], "Turn | Awaitable[Turn]"]
"""A script in Python: takes the conversation and the schemas of the tools, returns what to say at this position."""


@dataclass(slots=True, frozen=True)
class ScriptPosition:
    """Where in a conversation a model is asked to speak."""

    index: int
    """Number of assistant messages before."""
    digest: str
    """Of all that was said, hexadecimal: the same conversation has the same one in every process."""


def position_of(messages: Iterable[Message], *, since: Literal["start", "question"] = "start") -> ScriptPosition:
    """The position in a conversation. With ``since="question"`` only what follows the last user message counts."""
    digest = sha256()
    index = 0
    for message in messages:
        digest.update(message.model_dump_json().encode())
        if isinstance(message, AssistantMessage):
            index += 1
        elif isinstance(message, UserMessage) and since == "question":
            index = 0
    return ScriptPosition(index, digest.hexdigest())


class Script:
    """What a scripted model says, turn by turn.

    Args:
        turns: One entry for each position, or a callable ``(messages, tools) -> Reply`` (also asynchronous) that may
            return whatever an entry may be.
        name: For error texts.
        since: Where positions are counted from. ``question`` suits an agent that takes over a conversation by handoff:
            its first turn then is its own, whatever was said before.
        repeat: Whether the last entry is said again for ever; else a conversation that goes on too long is an error.
    """

    def __init__(
        self,
        turns: Sequence[Turn] | ScriptFunction,
        *,
        name: str = "",
        since: Literal["start", "question"] = "start",
        repeat: bool = False,
    ) -> None:
        if isinstance(turns, str):
            raise TypeError("Script takes a list of turns; a single reply is written ['text']")
        if not (callable(turns) or isinstance(turns, Sequence)):
            raise TypeError(f"Script takes a list of turns, such as ['text'], or a function; got {turns!r}")
        for number, turn in enumerate(() if callable(turns) else turns):
            _check_turn(turn, f"turn {number} of script '{name}'")
        self.name = name
        self._turns = turns
        self._since = since
        self._repeat = repeat
        self._attempts: Counter[tuple[int, str]] = Counter()
        self._lock = threading.Lock()

    def reset(self) -> None:
        """Forget all attempts: faults come again from the first."""
        with self._lock:
            self._attempts.clear()

    async def say(self, messages: list[Message], tools: list[dict[str, Any]]) -> tuple[ScriptPosition, Reply | Fault]:
        """What comes now, at this attempt.

        Raises:
            ModelError: The conversation is longer than the script (code `script_exhausted`).
        """
        position = position_of(messages, since=self._since)
        said = await self._turn(position, messages, tools)
        key = (position.index, position.digest)
        if isinstance(said, Reply | Fault | str):
            said = [said]
        if not said:
            raise ModelError(
                f"Turn {position.index} of script '{self.name}' is empty",
                provider="scripted",
                code="script_empty_turn",
                where="client",
                hint="Give at least one reply or fault for each turn.",
            )
        with self._lock:
            attempt = self._attempts[key]
            now = said[min(attempt, len(said) - 1)]
            if isinstance(now, Fault):
                self._attempts[key] += 1
            else:
                self._attempts.pop(key, None)
        return position, _fill_in(Reply(now) if isinstance(now, str) else now, messages)

    async def _turn(self, position: ScriptPosition, messages: list[Message], tools: list[dict[str, Any]]) -> Turn:
        if callable(self._turns):
            given = self._turns(list(messages), list(tools))
            found = await given if isawaitable(given) else given
            _check_turn(found, f"what the function of script '{self.name}' returned")
            return found
        if position.index < len(self._turns):
            return self._turns[position.index]
        if self._repeat and self._turns:
            return self._turns[-1]
        raise ModelError(
            f"Script '{self.name}' has {len(self._turns)} turns, and the conversation asks for turn "
            f"{position.index + 1}",
            provider="scripted",
            model=self.name,
            code="script_exhausted",
            type="invalid_request_error",
            status=400,
            where="client",
            hint="Add a turn, or set repeat: the last turn is then said for ever. For an agent that takes over a "
            "conversation, set since to 'question'.",
        )


def calls_of(reply: Reply, position: ScriptPosition) -> list[tuple[str, str, str]]:
    """Id, name and arguments (JSON text) of each call. Ids are the same whenever the conversation is."""
    return [
        (
            call.id or f"call_{position.digest[:12]}_{number}",
            call.name,
            _arguments_text(call),
        )
        for number, call in enumerate(reply.calls)
    ]


def usage_of(reply: Reply, messages: Iterable[Message], tools: Iterable[Mapping[str, Any]]) -> Usage:
    """Tokens of a call, by length: four characters to a token, rounded up."""
    if reply.usage is not None:
        return reply.usage
    said = sum(len(content_text(message.content)) for message in messages)
    said += sum(len(json.dumps(tool)) for tool in tools)
    answer = len(reply.text) + sum(len(call.name) + len(str(call.arguments)) for call in reply.calls)
    thoughts = -(-len(reply.reasoning) // 4)
    spent, made = -(-said // 4), -(-answer // 4) + thoughts
    return Usage(input_tokens=spent, output_tokens=made, total_tokens=spent + made, reasoning_tokens=thoughts)


def split_words(text: str) -> list[str]:
    """A text in words, each with the white space behind it; joined they are the text again."""
    return re.findall(r"\s*\S+\s*|\s+", text)


def _check_turn(turn: object, where: str) -> None:
    """Refuse a value of another kind where it is written, and not when a run comes to it.

    Raises:
        TypeError: It is neither a reply, a fault or a text, nor some of these; or the arguments of a call are not JSON.
    """
    tries = turn if isinstance(turn, Sequence) and not isinstance(turn, str) else [turn]
    for said in tries:
        if not isinstance(said, Reply | Fault | str):
            a_call = isinstance(said, Call)
            form = (
                'a call is written Reply(calls=[Call("tool", {...})])' if a_call else "write a Reply, a Fault or a text"
            )
            raise TypeError(f"{where} is of type {type(said).__name__}; {form}")
        for call in said.calls if isinstance(said, Reply) else ():
            try:
                _arguments_text(call)
            except (TypeError, ValueError) as exc:
                raise TypeError(
                    f"{where} calls {call.name!r} with arguments that are not JSON ({exc}); "
                    'write them as JSON would have them, such as Call("add", {"numbers": [1, 2]})'
                ) from exc


def _arguments_text(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else json.dumps(call.arguments, ensure_ascii=False)


def _fill_in(said: Reply | Fault, messages: Sequence[Message]) -> Reply | Fault:
    if isinstance(said, Fault) or "$" not in said.text:
        return said
    asked = next((content_text(m.content) for m in reversed(messages) if isinstance(m, UserMessage)), "")
    found = next((m.error or content_text(m.content) for m in reversed(messages) if isinstance(m, ToolResult)), "")
    told = next((content_text(m.content) for m in messages if isinstance(m, SystemMessage)), "")
    text = Template(said.text).safe_substitute(input=asked, result=found, instructions=told)
    return replace(said, text=text)
