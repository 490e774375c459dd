"""The parameters of an answer as they are recorded: checked, and sealed where they are secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from orbiter.config import parse_model_string
from orbiter.errors import OrbiterError
from orbiter.models.provider import model_registry
from orbiter.parsing.near_names import did_you_mean
from runtime.judgement.recovery.input_validation import InvalidInput
from runtime.judgement.recovery.option_table import OPTIONS
from runtime.judgement.recovery.param_validation import check_params
from runtime.judgement.recovery.secret_box import seal
from runtime.record.journal import Journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import fold_events


class InvalidCommand(OrbiterError):
    """What was asked for cannot be done as it was said; nothing was written."""


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


async def check_provider(journal: Journal, run_id: str, model: str) -> None:
    """Look whether a run can be given this model: its provider is known here, or the run has used it.

    Raises:
        InvalidCommand: it names no model, or a provider that neither knows.
    """
    provider, name = parse_model_string(model)
    if not name or model in model_registry:  # a provider's name alone would be taken for that of a model
        raise InvalidCommand(f"{model!r} names no model: give --model provider:name")
    if provider in model_registry:
        return
    # One that the swarm registers itself is not known here, but its runs have used it.
    state = fold_events(await journal.read(run_id))
    used = {str(node.requested.get("model", "")).partition(":")[0] for node in state.nodes.values()}
    if provider not in used:
        known = sorted(model_registry.list_all())
        hint = did_you_mean(provider, known, form=f"'{{}}:{name}'")
        raise InvalidCommand(f"unknown provider {provider!r}: {hint}The providers are {', '.join(known)}")
