"""The parameters of an answer as they are recorded: checked, and sealed where they are secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from orbiter.errors import OrbiterError
from runtime.judgement.recovery.input_validation import InvalidInput
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.param_validation import check_params
from runtime.judgement.recovery.secret_box import seal
from runtime.record.state import events as ev

if TYPE_CHECKING:
    from runtime.execution.view_redaction import ViewRedactor


class InvalidCommand(OrbiterError):
    """What was asked for cannot be done as it was said; nothing was written."""


def restored_params(views: ViewRedactor, params: Mapping[str, Any], arguments: Any) -> dict[str, Any]:
    """The parameters with original values where an operator who was shown masks left them as they were. `arguments`:
    what was shown to be changed.

    Raises:
        InvalidCommand: a mask is left.
    """
    from runtime.execution.view_redaction import MaskNotReplaced  # a console checks parameters without it

    try:
        restored: dict[str, Any] = views.restore(params, {"arguments": arguments})
    except MaskNotReplaced as exc:
        raise InvalidCommand(str(exc)) from exc
    return restored


def checked_params(opened: ev.IncidentOpened, option: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters as they are to be recorded.

    Raises:
        InvalidCommand: the incident does not offer the option, or a parameter is missing, wrong, or not one of its own.
    """
    offered = {found.id: found for found in opened.options}
    spec = OPTIONS.get(option)
    if option not in offered:
        known = "" if spec is not None else f" ({option!r} is not a known option)"
        raise InvalidCommand(f"incident {opened.incident_id} takes {', '.join(offered)}, not {option!r}{known}")
    if spec is None:
        raise InvalidCommand(f"a newer program offers {option!r}; this one does not know what it does")
    try:
        given = check_params(opened, option, params, ev.utc_now())
    except InvalidInput as exc:
        said = str(exc)
        raise InvalidCommand(said if said.startswith(repr(option)) else f"{option!r}: {said}") from exc
    if opened.secret_key and opened.question:
        for param in spec.params:
            if param.schema == "answer" and param.name in given:
                given[param.name] = seal(opened.secret_key, json.dumps(given[param.name]))
    return given
