"""Which error configuration holds at a node (seed 003): what `run` was given, then swarms inside out, then the file.

What swarms declare and what `run` is given stands in the nodes' info, and a run's own in its options: a later life
reads the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache, reduce
from typing import Any

from orbiter._internal.user_code import text_with_timeout
from orbiter.errors import ConfigurationError
from orbiter.steps import RUN_KEY, SWARM_KEY, Step, errors_as_json
from runtime.execution.run_session import RunSession
from runtime.judgement.fault_handling import FaultHandling
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import Classification

OPTION = "errors"
"""The option of a run that holds its own configuration."""


def errors_at(session: RunSession, node_id: str) -> FaultHandling:
    """The error configuration in force at a node; the empty id is the run as a whole."""
    if not _is_given(session.state):
        return session.config.errors
    return reduce(lambda outer, given: given.over(outer), _given_at(session.state, node_id), session.config.errors)


def retry_policy_at(session: RunSession, node_id: str, fault: Classification) -> RetryPolicy:
    """How often and how far apart a fault is tried again at a node."""
    if any(True for _ in _given_at(session.state, node_id)):
        return errors_at(session, node_id).policy_for(fault)
    return session.config.policy_for(fault)


def retry_policy_for(
    session: RunSession, step: Step[Any, Any], node_id: str, fault: Classification, warn: Callable[[str], None]
) -> RetryPolicy:
    """The same for a step below a node: what its author's `get_retry_policy()` says goes over it. One that cannot be
    used is warned of, and left.
    """
    usual = retry_policy_at(session, node_id, fault)
    if step.traits.retry_policy is None:
        return usual
    try:
        return RetryPolicy.from_mapping(step.traits.retry_policy(), usual)
    except BaseException as exc:  # user code: whatever it raises, the usual policy holds
        warn(f"get_retry_policy() of {step.name} cannot be used: {type(exc).__name__}: {text_with_timeout(exc)}")
        return usual


def may_ask_operator(session: RunSession, node_id: str) -> bool:
    """Whether an operator may be asked about a node. A no of the workspace or the command holds everywhere."""
    return session.config.enable_error_routing and errors_at(session, node_id).enable_error_routing


def answer_deadline_at(session: RunSession, node_id: str) -> float | None:
    """After how many seconds an incident of a node takes its safe default; None: never."""
    for given in reversed(list(_given_at(session.state, node_id))):
        if "error_recovery_timeout" in given.model_fields_set:
            return given.error_recovery_timeout
    return session.config.deadline_s


def parse_errors(given: Any) -> dict[str, Any]:
    """A run's own configuration, as its options keep it.

    Raises:
        ValueError: It is not an error configuration, naming what is wrong.
    """
    if not isinstance(given, Mapping):
        given = errors_as_json(given) if hasattr(given, "model_fields_set") else given
    return errors_as_json(FaultHandling.model_validate(given))


def check_declared(info: Mapping[str, Any] | None) -> None:
    """Look whether what a node brings along can be used by a runtime: its rules are read here first.

    Raises:
        ConfigurationError: A rule is malformed.
    """
    for key in (SWARM_KEY, RUN_KEY):
        if info is not None and key in info:
            try:
                _parsed(json.dumps(info[key], sort_keys=True))
            except ValueError as exc:
                raise ConfigurationError(
                    f"An error configuration cannot be used: {exc}", config_field="errors"
                ) from exc


def _is_given(state: DurableRun) -> bool:
    """Whether anything goes over the workspace's configuration in this run. Asked at every attempt of every step."""
    return SWARM_KEY in state.declared or RUN_KEY in state.declared or bool(state.options.get(OPTION))


def _given_at(state: DurableRun, node_id: str) -> Iterator[FaultHandling]:
    """What was given for a node, besides the workspace's: what holds over the others comes last."""
    if not _is_given(state):
        return iter(())
    infos = [info for info in _infos_above(state, node_id) if SWARM_KEY in info or RUN_KEY in info]
    infos.reverse()
    given = [info[SWARM_KEY] for info in infos if info.get(SWARM_KEY)]
    if state.options.get(OPTION):
        given.append(state.options[OPTION])
    given.extend(info[RUN_KEY] for info in infos if info.get(RUN_KEY))
    return (_parsed(json.dumps(each, sort_keys=True)) for each in given)


def _infos_above(state: DurableRun, node_id: str) -> Iterator[Mapping[str, Any]]:
    """What a node and those above it brought along, from the inside out."""
    node = state.nodes.get(node_id)
    while node is not None:
        yield node.info
        node = state.nodes.get(node.parent_id)


@lru_cache(maxsize=64)
def _parsed(text: str) -> FaultHandling:
    return FaultHandling.model_validate_json(text)
