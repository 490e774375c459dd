"""Values of arguments: a text that is piped in, an object that is written as JSON."""

from __future__ import annotations

import sys
from typing import Any

from console.verbs.base import BadInput
from orbiter.text_input import MAX_TEXT_BYTES, UnreadableText, read_stdin


def text_of_stdin(*, most: int = MAX_TEXT_BYTES) -> str:
    """All of stdin, for an argument `-`.

    Raises:
        BadInput: it is closed, is not UTF-8, or has more than `most` bytes.
    """
    if sys.stdin is None:
        raise BadInput("stdin is closed: give the text as an argument, or pipe it in")
    try:
        return read_stdin(sys.stdin.buffer, most=most)
    except UnreadableText as exc:
        raise BadInput(str(exc)) from exc


def json_object(text: str | None, option: str) -> dict[str, Any] | None:
    """The JSON object that an option was given; None where it was not given.

    Raises:
        BadInput: it is not JSON, or not an object.
    """
    if text is None:
        return None
    from runtime.judgement.recovery import input_validation

    try:
        return input_validation.json_object(text)
    except input_validation.InvalidInput as exc:
        raise BadInput(f"{option}: {exc}") from exc
