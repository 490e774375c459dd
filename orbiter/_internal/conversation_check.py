"""The conversation that a caller or a hook gives: what is wrong with a message is said before a model is asked.

Halves of characters are replaced, as in everything else that is sent and recorded.
"""

from __future__ import annotations

import reprlib
from collections.abc import Collection, Mapping
from operator import is_
from typing import Any, Final, TypeVar, get_args

from pydantic import BaseModel

from orbiter._internal.output_parser import json_problem
from orbiter._internal.values.field_check import declaring_class, wrong_field
from orbiter.errors import AgentError
from orbiter.text_encoding import drop_surrogates, drop_surrogates_in
from orbiter.types import AssistantMessage, Message

M = TypeVar("M", bound=BaseModel)

_EXAMPLE: Final = '[UserMessage(content="Hello")]'
_CLASSES: Final = frozenset(get_args(Message))


def read_conversation(agent: str, given: Any) -> list[Message]:
    """The conversation that an agent was given, in a list of its own, as it can be sent and recorded.

    Args:
        agent: The agent's name.
        given: The conversation; empty or None: none.

    Raises:
        AgentError: It must be a list of messages whose fields are as their classes declare them, and is something else.
    """
    if not given:
        return []
    if not isinstance(given, Collection) or isinstance(given, str | bytes | Mapping):
        raise _conversation_error(agent, f"messages must be a list; got {reprlib.repr(given)}")
    found = []
    for at, message in enumerate(given):
        if (wrong := wrong_message(at, message)) is not None:
            raise _conversation_error(agent, wrong)
        found.append(replace_surrogates(message))
    return found


def _conversation_error(agent: str, wrong: str) -> AgentError:
    return AgentError(f"Agent '{agent}': {wrong}", suggestion=f"Write them as messages={_EXAMPLE}.")


def wrong_message(at: int, message: object) -> str | None:
    """What is wrong with the message at a place of a conversation; None: nothing is."""
    place = f"messages[{at}]"
    if not isinstance(message, Message):
        return f"{place}: must be a message of orbiter.types; got {reprlib.repr(message)}"
    if (wrong := wrong_field(declaring_class(message), message, f"{place}.")) is not None:
        return wrong
    if isinstance(message, AssistantMessage) and (why := json_problem(message.provider_data)):
        return f"{place}.provider_data: must be JSON: {why}"
    if type(message) not in _CLASSES:  # with fields of the user's
        try:
            replace_surrogates(message).model_dump_json()
        except (ValueError, RecursionError) as exc:
            return f"{place}: cannot be written as JSON: {exc}"
    return None


def replace_surrogates(value: M) -> M:
    """The same message with halves of characters replaced in all its texts; itself where it has none."""
    mended = {name: each for name, given in vars(value).items() if (each := _mended(given)) is not given}
    return value.model_copy(update=mended) if mended else value


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        return drop_surrogates(value)
    if isinstance(value, BaseModel):
        return replace_surrogates(value)
    if isinstance(value, list):
        items = [_mended(each) for each in value]
        return value if all(map(is_, items, value)) else items
    if isinstance(value, dict) and "\\ud" in repr(value):  # which shows halves so, and hardly anything else
        return drop_surrogates_in(value)
    return value
