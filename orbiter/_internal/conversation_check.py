"""The conversation that a caller or a hook gives: what is wrong with a message is said before a model is asked."""

from __future__ import annotations

import reprlib
from collections.abc import Sequence
from typing import Final

from orbiter._internal.output_parser import json_problem
from orbiter._internal.values.field_check import wrong_field
from orbiter.types import AssistantMessage, Message

_EXAMPLE: Final = 'UserMessage(content="Hello")'


def check_messages(owner: str, given: object, error: type[Exception]) -> None:
    """Refuse a conversation that no run could go on with, or be recorded with.

    Args:
        owner: Who was given it, as the error calls it.
        given: The conversation; None: none.
        error: The class to raise.

    Raises:
        error: It must be a list of messages whose fields are as their classes declare them, and is something else.
    """
    if given is None:
        return
    if not isinstance(given, Sequence) or isinstance(given, str | bytes):
        raise error(f"{owner}: messages must be a list, such as [{_EXAMPLE}]; got {reprlib.repr(given)}")
    for at, message in enumerate(given):
        if (wrong := wrong_message(at, message)) is not None:
            raise error(f"{owner}: {wrong}. Write it as {_EXAMPLE}")


def wrong_message(at: int, message: object) -> str | None:
    """What is wrong with the message at a place of a conversation; None: nothing is."""
    place = f"messages[{at}]"
    if not isinstance(message, Message):
        return f"{place}: must be a message of orbiter.types; got {reprlib.repr(message)}"
    if (wrong := wrong_field(type(message), message)) is not None:
        return f"{place}.{wrong}"
    if isinstance(message, AssistantMessage) and (why := json_problem(message.provider_data)):
        return f"{place}.provider_data: must be JSON: {why}"
    try:
        message.model_dump_json()
    except ValueError as exc:  # half a surrogate pair, as `json.loads` reads one
        return f"{place}: cannot be written as JSON: {exc}"
    return None
