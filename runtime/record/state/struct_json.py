"""JSON of `msgspec` structs, whatever their texts are, and what is wrong with JSON that is not one, in words."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from orbiter.text_encoding import drop_surrogates

_AT = re.compile(r"(.*?)(?: - at `\$\.?([^`]*)`)?", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(\w+)`")


def encode_struct(value: Any) -> bytes:
    """`value` as one line of JSON. Lone surrogates are replaced: UTF-8 has none."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        plain = struct_to_builtins(value)
        return drop_surrogates(json.dumps(plain, ensure_ascii=False, separators=(",", ":"))).encode()


def struct_to_builtins(value: Any) -> Any:
    """`value` as `json` takes it; models of pydantic inside of it too, events as in the journal: without defaults."""
    return msgspec.to_builtins(value, str_keys=True, enc_hook=_plain)


def explain(exc: msgspec.ValidationError, otherwise: str) -> str:
    """What is wrong, beginning with the field; `otherwise` where it is the whole."""
    if isinstance(exc.__cause__, ValueError):  # of a `__post_init__`, which says it in words
        return str(exc.__cause__)
    said = _AT.fullmatch(str(exc))
    text, path = (said[1], said[2] or "") if said is not None else (str(exc), "")
    field = re.sub(r"\[.*?\]", "", path).rpartition(".")[2]
    missing = _MISSING.fullmatch(text)
    if missing is not None:
        return f"{field}: {missing[1]} is missing" if field else f"{missing[1]}: is missing"
    return f"{field}: {text[:400]}" if field else otherwise


def _plain(value: Any) -> Any:
    from pydantic_core import to_jsonable_python  # a program with such values has loaded it

    from runtime.record.state.events import JournalEvent, dump_event

    return json.loads(dump_event(value)) if isinstance(value, JournalEvent) else to_jsonable_python(value)


_encoder = msgspec.json.Encoder(enc_hook=_plain)
