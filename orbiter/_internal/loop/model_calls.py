"""Model calls of an agent: hooks around the call, failures in the classes of seed 000, fallback models."""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from orbiter import steps
from orbiter._internal.conversation_check import replace_surrogates, wrong_message
from orbiter._internal.error_causes import join_with_cause
from orbiter._internal.loop.error_wrapping import is_context_length_error, is_not_retryable
from orbiter._internal.loop.model_step import (
    MODEL_CODEC,
    ModelCall,
    ModelReply,
    call_model,
    stream_model,
)
from orbiter._internal.loop.tool_calls import check_left, hook_location
from orbiter._internal.run_warnings import warn_needs_runtime
from orbiter._internal.values.field_check import wrong_field
from orbiter.errors import AgentError, HookError, ModelAPIError, OrbiterError, text_of
from orbiter.hooks import HookPoint
from orbiter.steps import Place, Step
from orbiter.types import AgentOutput

if TYPE_CHECKING:
    from orbiter._internal.loop.agent_run_data import AgentRunData

logger = logging.getLogger("orbiter")


def build_call(run: AgentRunData) -> ModelCall:
    """What to ask the model in this turn."""
    if run.node is not None:
        run.node.new_child().start()
    return ModelCall(run.agent, run.provider, run.agent.model, run.messages, run.schemas, run.tool_names, run.new_from)


async def ask_model(run: AgentRunData) -> ModelReply:
    """One question to the model: an LLM step.

    Raises:
        AgentError: The model failed, after attempts and fallbacks.
        Exception: A hook's own.
    """
    agent, scope, call = run.agent, run.scope, build_call(run)
    hooks = agent.hook_manager.registered
    step = Step(
        "llm",
        agent.model,
        agent.name,
        Place(run.turn),
        call,
        call_model,
        MODEL_CODEC,
        agent.traits if scope is steps.DIRECT else steps.with_authors(agent.traits),
        partial(run_pre_hooks, run) if HookPoint.PRE_LLM_CALL in hooks else None,
        partial(run_post_hooks, run) if HookPoint.POST_LLM_CALL in hooks else None,
        stream_model if getattr(type(call.provider), "streams", False) is True else None,
        run.tries,
        is_not_retryable,
    )
    try:
        return await scope.step(step)
    except Exception as exc:
        try:
            if isinstance(exc, steps.Aborted) or exc is run.hook_error:
                raise
            return await _ask_others(run, step, exc)
        except Exception as final:
            if run.node is not None:
                run.node.children[-1].fail(str(final))
            raise


async def _ask_others(run: AgentRunData, step: Step[ModelCall, ModelReply], exc: Exception) -> ModelReply:
    """The first reply of a fallback model. Raises what the agent fails with, unless one of them answers."""
    failure = record_failure(run, exc, step.arguments.attempts)
    # A runtime tries the fallbacks by itself, each with its own breaker.
    if run.scope is not steps.DIRECT or is_context_length_error(exc):
        raise failure from exc
    step.before = None  # PRE hooks have run already
    for model in run.agent.fallbacks:
        call = switch_model(run, step.arguments, model, failure)
        if call is None:
            continue
        step.arguments = call
        try:
            return await steps.DIRECT.step(step)
        except Exception as second:
            if second is run.hook_error:
                raise
            failure.add_note(f"Fallback model '{model}' failed too: {second}")
    raise failure from exc


def switch_model(run: AgentRunData, call: ModelCall, model: str, failure: AgentError) -> ModelCall | None:
    """The question for a fallback model; None, and a note on the failure, if it has no provider."""
    try:
        changed = MODEL_CODEC.replace(call, {"model": model})
    except OrbiterError as exc:
        failure.add_note(f"Fallback model '{model}' cannot be asked: {exc}")
        return None
    warning = f"Agent '{run.agent.name}' asks '{model}' instead of '{call.model}': {failure}"
    logger.warning(warning)
    run.warnings.append(warning)
    changed.attempts = 0
    return changed


def record_failure(run: AgentRunData, exc: Exception, attempts: int) -> AgentError:
    """A model call's failure in the words of seed 000, also of its cause's class (seed 003), remembered as the one that
    this run may end with.
    """
    name, traits = run.agent.name, run.agent.traits
    if run.scope is steps.DIRECT and (traits.classify_error is not None or traits.retry_policy is not None):
        warn_needs_runtime(f"Agent '{name}' declares classify_error or get_retry_policy")
    said = text_of(exc) or repr(exc)
    if is_context_length_error(exc):
        text = f"Context length exceeded on agent '{name}': {said}"
    else:
        text = f"Agent '{name}' failed after {max(1, attempts)} retries: {said}"
    run.failure = join_with_cause(AgentError, text, exc)
    if isinstance(exc, ModelAPIError):
        run.failure.suggestion = exc.suggestion or exc.suggested_action
    return run.failure


async def run_pre_hooks(run: AgentRunData, call: ModelCall) -> None:
    """PRE_LLM_CALL hooks get the live list and may edit it. Messages are frozen: those that stay were checked when they
    came.

    Raises:
        HookError: What a hook has left there cannot be used.
    """
    before = {id(message): message for message in call.messages}  # held: an id is given again to what comes later
    await _run_hooks(run, HookPoint.PRE_LLM_CALL, messages=call.messages)
    for at, message in enumerate(call.messages):
        if id(message) not in before:
            _check_left(run, HookPoint.PRE_LLM_CALL, wrong_message(at, message))
            call.messages[at] = replace_surrogates(message)


async def run_post_hooks(run: AgentRunData, call: ModelCall, reply: ModelReply) -> None:
    """POST_LLM_CALL hooks get what the provider returned.

    Raises:
        HookError: What a hook has changed in it cannot be used.
    """
    await _run_hooks(run, HookPoint.POST_LLM_CALL, response=reply.output if reply.raw is None else reply.raw)
    _check_left(run, HookPoint.POST_LLM_CALL, wrong_field(AgentOutput, reply.output))


def _check_left(run: AgentRunData, point: HookPoint, wrong: str | None) -> None:
    try:
        check_left(run.agent.name, point, wrong)
    except HookError as exc:
        run.hook_error = exc
        raise


async def _run_hooks(run: AgentRunData, point: HookPoint, **data: Any) -> None:
    agent = run.agent
    try:
        await agent.hook_manager.run(point, agent=agent, **data, **hook_location(run.scope, run.turn))
    except Exception as exc:
        run.hook_error = exc
        raise
