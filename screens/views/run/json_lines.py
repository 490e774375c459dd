"""JSON as lines that a person reads."""

from __future__ import annotations

import json
import re
from typing import Any

from screens.render.layout import Span, Spans
from screens.render.sanitize import is_hidden
from screens.views.shared.render_context import RenderContext


def json_text(value: Any) -> str:
    """The canonical form: keys in their order, two blanks of indent, nothing escaped that can be shown.

    What JSON has no word for is shown as Python would; nothing here raises for the sake of one odd value.
    """
    return json.dumps(value, indent=2, ensure_ascii=False, default=repr, skipkeys=True)


def editable_json(value: Any) -> str:
    """The same for a field in which it is edited: what would not be seen there is escaped, which JSON allows."""
    return re.sub(r"[^\n -~]", lambda found: _escaped(found[0]), json_text(value))


def _escaped(char: str) -> str:
    return json.dumps(char)[1:-1] if is_hidden(char) else char


def json_lines(value: Any, context: RenderContext) -> list[Spans]:
    """Text as it is, everything else as JSON; both through the gate."""
    text = value if isinstance(value, str) else json_text(value)
    return [(Span(line),) if line else () for line in context.sanitize_lines(text)]
