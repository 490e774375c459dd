"""Masks secrets in what viewers are shown, where the setting `redact_views` says so.

The journal holds secrets in clear. With the setting, every message of the link and everything that a verb prints is
masked. An edit of what was shown has masks in it: `restore` puts the original values back, so that no mask ever
reaches a tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orbiter.redaction import REDACTED
from runtime.execution.secret_vault import make_redactor

if TYPE_CHECKING:
    from orbiter.redaction import Redactor

_OWN_FIELDS = frozenset(
    {
        "t", "v", "type", "id", "key", "epoch", "verb", "option", "kind", "state", "run_id", "node_id", "parent_id",
        "incident_id", "grant_id", "fingerprint", "secret_key",
    }
)  # fmt: skip
"""Members of messages and events that hold words, ids and public keys of ours: they stay as they are."""
FOREIGN_FIELDS = frozenset(
    {
        "action", "answer_schema", "arguments", "arguments_schema", "changes", "detail", "edits", "effective", "info",
        "metadata", "params", "requested", "result", "result_schema", "value",
    }
)  # fmt: skip
"""Members that hold what belongs to user code, a tool or a model: in them names of ours mean nothing."""
_ALWAYS_PLAIN = (b'{"t":"hello"', b'{"t":"pong"')
"""How the messages begin that hold nothing foreign and are sent all the time."""


class MaskNotReplaced(ValueError):
    """A value that was sent back is still masked, and is not the value that was shown."""


class ViewRedactor:
    """What the viewers of one workspace are shown.

    Args:
        patterns: The operator's own patterns (`redaction.patterns`).
        masked: Whether secrets are masked; else everything is shown as it is.
    """

    def __init__(self, patterns: Sequence[str] = (), *, masked: bool = False) -> None:
        self.patterns = tuple(patterns)
        self.masked = masked

    def mask_text(self, text: str) -> str:
        """A text as it is shown."""
        return make_redactor(self.patterns).text(text) if self.masked else text

    def mask_value(self, value: Any) -> Any:
        """A foreign value, as JSON has it, as it is shown."""
        return make_redactor(self.patterns).value(value) if self.masked else value

    def mask_message(self, message: Any) -> Any:
        """A message, event or result of ours, as JSON has it: its ids, words and numbers stay as they are."""
        return _mask(message, make_redactor(self.patterns)) if self.masked else message

    def mask_line(self, line: bytes) -> bytes:
        """A message of the link, as it is sent."""
        if not self.masked or line.startswith(_ALWAYS_PLAIN):
            return line
        message = json.loads(line)
        result = message.pop("result", None) if message.get("t") == "reply" else None
        redactor = make_redactor(self.patterns)
        shown = _mask(message, redactor)
        if result is not None:
            shown["result"] = _mask(result, redactor)
        return json.dumps(shown, ensure_ascii=False, separators=(",", ":")).encode()

    def restore(self, given: Any, original: Any = None) -> Any:
        """What an operator means who was shown `original` masked and sends `given`, as JSON has it.

        Raises:
            MaskNotReplaced: a part of it is masked and is not as it was shown.
        """
        return _restore(given, original, self.mask_value(original)) if self.masked else given


def _mask(message: Any, mask: Redactor) -> Any:
    if isinstance(message, dict):
        return {
            name: value if name in _OWN_FIELDS else mask.value(value) if name in FOREIGN_FIELDS else _mask(value, mask)
            for name, value in message.items()
        }
    if isinstance(message, list | tuple):
        return [_mask(each, mask) for each in message]
    return mask.text(message) if isinstance(message, str) else message


def _restore(given: Any, original: Any, shown: Any) -> Any:
    if not has_mark(given):
        return given
    if given == shown:
        return original
    if isinstance(given, Mapping):
        names = dict(zip(shown, original, strict=True)) if isinstance(shown, Mapping) else {}
        members = {}
        for name, value in given.items():
            if name in names:
                members[names[name]] = _restore(value, original[names[name]], shown[name])
            else:
                members[_restore(name, None, None)] = _restore(value, None, None)
        return members
    if isinstance(given, list) and isinstance(shown, list) and len(given) == len(shown):
        return [_restore(*each) for each in zip(given, original, shown, strict=True)]
    raise MaskNotReplaced(
        f"{given!r:.80} is masked (redact_views): leave the value as it is shown, or type the whole of it"
    )


def has_mark(value: Any) -> bool:
    """Whether a mask stands anywhere in a value, as JSON has it."""
    if isinstance(value, Mapping):
        return any(REDACTED in str(name) or has_mark(each) for name, each in value.items())
    if isinstance(value, list):
        return any(map(has_mark, value))
    return isinstance(value, str) and REDACTED in value
