"""The models that can take over from one that failed: those that answered in the run, those chosen in it before, and
the others of its swarm.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from msgspec import Struct

from orbiter.models.endpoints import ENDPOINTS
from runtime.judgement.recovery.option_table import effect_of
from runtime.judgement.reports.explanation.explained_incident import ExplainedIncident
from runtime.judgement.reports.explanation.step_facts import model_name
from runtime.record.state.durable_run import DurableRun, Node

MAX_MODELS: Final = 6
"""So many are named; the latest first."""


class ModelChoice(Struct, frozen=True):
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
    return _choices((name for name, _ in models_that_answered(case)), case.state, now)


def models_of_run(state: DurableRun, now: str = "") -> tuple[ModelChoice, ...]:
    """What a run knows of models. `now`: one that is named elsewhere already."""
    return _choices((name for name, _ in _answered(state)), state, now)


def _choices(answered: Iterable[str], state: DurableRun, now: str) -> tuple[ModelChoice, ...]:
    found = dict.fromkeys(answered, "answered in this run")
    for name in _chosen(state):
        found.setdefault(name, "was chosen in this run before")
    for name in _declared(state):
        found.setdefault(name, "a model of this swarm")
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
    return (found for found in _answered(case.state) if found[1].closed_seq <= case.opened.seq)


def _answered(state: DurableRun) -> Iterator[tuple[str, Node]]:
    for node in reversed(state.nodes.values()):
        if node.kind == "llm" and node.phase == "succeeded" and node.by is None and node.closed_seq > 0:
            yield str(node.effective.get("model") or node.name), node


def _declared(state: DurableRun) -> Iterator[str]:
    """Models of the run's agents, also of those that have not begun, and what stands in for them by declaration."""
    for root in state.roots:
        info = state.nodes[root].info
        stand_ins = info.get("fallbacks")
        chains = stand_ins.values() if isinstance(stand_ins, dict) else ()
        for each in (info.get("models"), *chains):
            yield from (name for name in each if isinstance(name, str)) if isinstance(each, list | tuple) else ()


def _chosen(state: DurableRun) -> list[str]:
    """Models that an operator chose by an answer, the latest first."""
    given = [each.answer for each in reversed(state.incidents.values()) if each.answer is not None]
    chosen = [each.params.get("model") for each in given if effect_of(each.option) == "switch_model"]
    return [name for name in chosen if isinstance(name, str)]
