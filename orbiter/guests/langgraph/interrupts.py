"""Interrupts of graphs as incidents: approvals of tool calls, and questions. Each answer goes to its own interrupt.

An approval is a step that needs a permission, so that a person grants, changes or denies it, or gives the result. What
it gives is the decision in the framework's words. Everything else is a question, with the form of its schema.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from langgraph.types import Interrupt

from orbiter._internal.concurrency import gather_fail_fast
from orbiter.ask import NeedsInput
from orbiter.guests.langgraph.approval import ApprovalAsk, approve, by_human_response
from orbiter.guests.langgraph.life import Life, ordinal
from orbiter.parsing.nesting import check_json
from orbiter.parsing.strict_json import NotANumber, load_json
from orbiter.steps import Codec, Place, Step

ASK = "ask"
"""What the step of a question is called."""
_ANY = ("approve", "edit", "reject", "respond")


async def answer_all(life: Life, interrupts: Sequence[Interrupt]) -> dict[str, Any]:
    """The answer of each interrupt, by its id; waits for as long as people are needed, for each by itself."""
    places = [_place(life, each) for each in interrupts]
    answers = await gather_fail_fast(
        [_answer(life, each, place) for each, place in zip(interrupts, places, strict=True)]
    )
    return {each.id: answer for each, answer in zip(interrupts, answers, strict=True)}


@dataclass(slots=True, frozen=True)
class _Asking:
    """Asks people for one interrupt, and notes which steps gave its answer."""

    life: Life
    interrupt_id: str

    async def approve(self, asked: ApprovalAsk, place: Place) -> dict[str, Any]:
        decision = await approve(self.life, asked, place)
        self.life.tasks.answered(self.interrupt_id, asked.name, place)
        return decision

    async def ask(self, question: str, schema: Any, place: Place) -> Any:
        answer = await ask(self.life, question, schema, place)
        self.life.tasks.answered(self.interrupt_id, ASK, place)
        return answer


def _place(life: Life, asked: Interrupt) -> Place:
    """A coarse run keeps LangGraph's ids; a fine one asks the same questions in the same order in each life."""
    if not life.fine:
        number = life.tasks.asked_at(asked.id)
        return Place(max(0, len(life.checkpoints) - 1) if number is None else number, ordinal(asked.id))
    return Place(life.turn, life.visit("interrupt", life.turn) * _ACTIONS)


_ACTIONS = 100
"""An interrupt may ask about so many actions at once."""


async def _answer(life: Life, asked: Interrupt, place: Place) -> Any:
    value, asking = asked.value, _Asking(life, asked.id)
    if isinstance(value, Mapping) and "action_requests" in value and "review_configs" in value:
        return {"decisions": await _decide_all(asking, value, place)}
    if isinstance(value, Mapping) and value.get("type") == "tool_approval":
        allowed = _allowed_by(asked.response_schema)
        return await asking.approve(ApprovalAsk(value["name"], value["args"], allowed, value["tool_call_id"]), place)
    if _is_human_interrupt(value):
        return await _respond(asking, value, place)
    if isinstance(value, list) and value and all(map(_is_human_interrupt, value)):
        return await gather_fail_fast([_respond(asking, each, _beside(place, at)) for at, each in enumerate(value)])
    return await asking.ask(_question(value), asked.response_schema, place)


def _beside(place: Place, number: int) -> Place:
    return Place(place.seq, (place.par or 0) + number)


async def _decide_all(asking: _Asking, value: Mapping[str, Any], place: Place) -> list[Any]:
    """The decisions on each action of a request of `HumanInTheLoopMiddleware`, in its order."""
    configs = {each["action_name"]: each["allowed_decisions"] for each in value["review_configs"]}
    asks = [
        ApprovalAsk(each["name"], each["args"], tuple(configs.get(each["name"], _ANY)), description=_description(each))
        for each in value["action_requests"]
    ]
    return await gather_fail_fast([asking.approve(each, _beside(place, at)) for at, each in enumerate(asks)])


def _description(request: Mapping[str, Any]) -> str:
    return str(request.get("description") or "")


def _allowed_by(schema: Any) -> tuple[str, ...]:
    """The decisions for which a schema has a place."""
    text = json.dumps(schema, default=str) if schema is not None else ""
    return tuple(each for each in _ANY if not text or f'"{each}"' in text)


def _is_human_interrupt(value: Any) -> bool:
    return isinstance(value, Mapping) and {"action_request", "config"} <= value.keys()


async def _respond(asking: _Asking, value: Mapping[str, Any], place: Place) -> Any:
    """The answer to a `HumanInterrupt` of older programs."""
    request, config = value["action_request"], value["config"]
    words = {"allow_accept": "approve", "allow_edit": "edit", "allow_ignore": "reject", "allow_respond": "respond"}
    allowed = tuple(word for name, word in words.items() if config.get(name))
    asked = ApprovalAsk(
        request["action"], request["args"], allowed, description=_description(value), answers=by_human_response
    )
    return await asking.approve(asked, place)


def _question(value: Any) -> str:
    """What is asked, as text: the question itself where there is one, with what stands beside it."""
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        for key in ("question", "message", "query", "prompt", "instruction", "task"):
            if isinstance(found := value.get(key), str) and found:
                rest = {name: each for name, each in value.items() if name != key}
                return f"{found}\n{_as_json(rest)}" if rest else found
    return _as_json(value)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


class _QuestionCodec(Codec[tuple[str, Any], Any]):
    """A question and its answer, which is JSON."""

    def describe(self, arguments: tuple[str, Any]) -> dict[str, Any]:
        return {"question": arguments[0]}

    def dump(self, result: Any) -> Any:
        return result

    def load(self, value: Any) -> Any:
        return value


_QUESTION = _QuestionCodec()


async def _ask(arguments: tuple[str, Any]) -> Any:
    raise NeedsInput(*arguments)


async def ask(life: Life, question: str, schema: Any, place: Place) -> Any:
    """A person's answer. Without a schema, a text that is JSON is the value that it stands for; one that has what JSON
    does not have, as `NaN`, is asked for again.
    """
    form = schema if isinstance(schema, Mapping) else None
    name, wording = ASK, question
    for again in count(1):
        given = await life.scope.step(Step("value", name, life.agent, place, (wording, form), _ask, _QUESTION))
        if form is not None or not isinstance(given, str):
            return given
        try:
            return _read(given)
        except NotANumber as exc:
            name, wording = f"{ASK} again {again}", f"{question}\n{_not_taken(exc.written[:40])}"
    raise AssertionError("it is asked until it is answered")


def _read(text: str) -> Any:
    """The value of a text that is JSON, else the text.

    Raises:
        NotANumber: It has a number that JSON does not have.
    """
    try:
        check_json(text)
        return load_json(text)
    except NotANumber:
        raise
    except ValueError:
        return text


def _not_taken(word: str) -> str:
    return (
        f"The answer before was not taken: {word} is not a number of JSON. Write a number, as 2.5, or"
        f' "{word}" with its quotes for the text.'
    )
