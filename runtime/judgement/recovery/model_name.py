"""Checks the name of a model that an operator gives, against the providers and the run. Pure."""

from __future__ import annotations

from orbiter.config import parse_model_string
from orbiter.models.provider import model_registry
from orbiter.parsing.near_names import did_you_mean
from runtime.judgement.recovery.input_validation import InvalidInput
from runtime.record.state.durable_run import DurableRun


def check_model_name(model: str, state: DurableRun) -> None:
    """Whether the run's calls can be sent to a model of this name, as far as a name can tell.

    Args:
        model: as ``provider:name``. A name without a provider may be one that a guest registers.
        state: the run. What it has used is right, whatever it is: a swarm may register providers of its own.

    Raises:
        InvalidInput: it names no model, or no provider that is known; the message says what is right.
    """
    provider, name = parse_model_string(model)
    if not name or model in model_registry:  # a provider's name alone would be taken for that of a model
        raise InvalidInput(f"{model!r} names no model: name it as provider:name")
    used = {str(node.requested.get("model") or node.name) for node in state.nodes.values() if node.kind == "llm"}
    if model in used:
        return
    guests = any(node.info.get("framework") for node in state.nodes.values())  # they register models under any name
    if ":" not in model and not guests and used and all(":" in each for each in used):
        raise InvalidInput(f"{model!r} names no provider: name it as provider:name, such as {provider}:{model}")
    if provider not in model_registry and provider not in {each.partition(":")[0] for each in used}:
        known = sorted(model_registry.list_all())
        hint = did_you_mean(provider, known, form=f"'{{}}:{name}'")
        raise InvalidInput(f"unknown provider {provider!r}: {hint}The providers are {', '.join(known)}")
