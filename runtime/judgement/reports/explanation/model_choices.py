"""The models that can take over from one that failed: those that answered in the run, and those chosen in it before."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from orbiter.models.endpoints import ENDPOINTS
from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.reports.explanation.explained_incident import ExplainedIncident
from runtime.judgement.reports.explanation.step_facts import model_name
from runtime.record.state.durable_run import Node

MAX_MODELS: Final = 6
"""So many are named; the latest first."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A model of the run.

    Attributes:
        name: as ``provider:name``; recorded, so to be sanitised before it is shown.
        why: what is known of it.
    """

    name: str
    why: str


def model_choices(case: ExplainedIncident) -> tuple[ModelChoice, ...]:
    """What the run knows of other models, up to the incident; none for an incident that is not a model's."""
    now = model_name(case)
    if not now:
        return ()
    found = dict.fromkeys((name for name, _ in models_that_answered(case)), "answered in this run")
    for name in _chosen(case):
        found.setdefault(name, "was chosen in this run before")
    names = [name for name in found if name != now and ":" in name]
    return tuple(ModelChoice(name, found[name]) for name in names[:MAX_MODELS])


def provider_choices(keys: Collection[str]) -> tuple[ModelChoice, ...]:
    """Providers that can be asked, each as ``provider:``: a model of it is still to be named.

    Args:
        keys: the names of the variables with providers' keys that the runtime has.
    """
    able = [name for name, endpoint in ENDPOINTS.items() if any(each in keys for each in endpoint.key_variables)]
    return tuple(ModelChoice(f"{name}:", "its key is there; you name the model") for name in able[:MAX_MODELS])


def models_that_answered(case: ExplainedIncident) -> Iterator[tuple[str, Node]]:
    """Models that answered before the incident, each with its step, the latest first."""
    for node in reversed(case.state.nodes.values()):
        answered = node.kind == "llm" and node.phase == "succeeded" and node.by is None
        if answered and 0 < node.closed_seq <= case.opened.seq:
            yield str(node.effective.get("model") or node.name), node


def _chosen(case: ExplainedIncident) -> list[str]:
    """Models that an operator chose by an answer, the latest first."""
    given = [each.answer for each in reversed(case.state.incidents.values()) if each.answer is not None]
    chosen = [each.params.get("model") for each in given if effect_of(each.option) == "switch_model"]
    return [name for name in chosen if isinstance(name, str)]
