"""A line of the link, read as a message; what cannot be read is explained, with the id that it was meant to have."""

from __future__ import annotations

import re
from functools import cache
from typing import TypeVar

import msgspec

from orbiter.parsing.nesting import NestedTooDeeply, check_json
from runtime.link.wire.protocol import ConsoleMessage, RuntimeMessage
from runtime.record.state.struct_json import explain

M = TypeVar("M")


class InvalidMessage(ValueError):
    """A line cannot be read as a message: `error` is ``not_json``, ``unknown_message`` or ``bad_message``; `asked` is
    the id of the command or ping that it was meant to be, as far as that can be recognised.
    """

    def __init__(self, error: str, message: str, asked: str = "") -> None:
        super().__init__(message)
        self.error = error
        self.asked = asked


_runtime_decoder: msgspec.json.Decoder[RuntimeMessage] = msgspec.json.Decoder(RuntimeMessage)


@cache
def _console_decoder() -> msgspec.json.Decoder[ConsoleMessage]:
    """Made by a runtime; a console does without."""
    return msgspec.json.Decoder(ConsoleMessage)


def parse_message(line: bytes) -> RuntimeMessage:
    """The message of a runtime in `line`. Raises `InvalidMessage`."""
    return _parse(_runtime_decoder, line)


def parse_console_message(line: bytes) -> ConsoleMessage:
    """The message of a console in `line`. Raises `InvalidMessage`."""
    return _parse(_console_decoder(), line)


def _parse(decoder: msgspec.json.Decoder[M], line: bytes) -> M:
    try:
        check_json(line)
        return decoder.decode(line)
    except NestedTooDeeply as exc:
        raise InvalidMessage("not_json", f"the line {exc}", _message_id(line)) from exc
    except msgspec.ValidationError as exc:
        raise InvalidMessage(*_explain(exc), _message_id(line)) from exc
    except (msgspec.DecodeError, UnicodeDecodeError) as exc:
        raise InvalidMessage("not_json", f"the line is not JSON: {exc}", _message_id(line)) from exc


_TAG = r"(?s)Invalid value (.*) - at `\$\.t`"


def _explain(exc: msgspec.ValidationError) -> tuple[str, str]:
    said = explain(exc, str(exc))
    if said == "t: is missing":
        return "unknown_message", "the message has no field 't' that says what it is"
    if said.startswith("t: "):
        name = re.fullmatch(_TAG, str(exc))
        return "unknown_message", f"no message is called {name[1] if name is not None else 'so'!s:.80}"
    return "bad_message", said


_ID = rb'\s*\{\s*(?:"t"\s*:\s*"\w{1,20}"\s*,\s*)?"id"\s*:\s*(?:"([^"\\]{1,100})"|(\d{1,18})\b)'


def _message_id(line: bytes) -> str:
    """The id of a message that cannot be read; empty if it has none that is recognised. Python's own reader takes some
    JSON that the one of messages does not: lone surrogates, NaN.
    """
    import json

    try:
        check_json(line)
        said = json.loads(line.decode())
    except ValueError:
        found = re.match(_ID, line)
        return (found[1] or found[2]).decode(errors="replace") if found else ""
    number = said.get("id") if isinstance(said, dict) else None
    return str(number).encode(errors="replace").decode()[:100] if isinstance(number, str | int) else ""
