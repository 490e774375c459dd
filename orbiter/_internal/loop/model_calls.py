"""Model calls of an agent: hooks around the call, failures in the classes of seed 000, fallback models."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from orbiter import steps
from orbiter._internal.error_causes import join_with_cause
from orbiter._internal.loop.error_wrapping import is_context_length_error, is_not_retryable
from orbiter._internal.loop.model_step import (
    MODEL_CODEC,
    ModelCall,
    ModelReply,
    call_model,
    stream_model,
)
from orbiter._internal.loop.tool_calls import hook_location
from orbiter._internal.run_warnings import warn_needs_runtime
from orbiter.errors import AgentError, ModelAPIError, OrbiterError, text_of
from orbiter.hooks import HookPoint
from orbiter.steps import Place, Scope, Step

if TYPE_CHECKING:
    from orbiter.agent import Agent
    from orbiter.types import Message

logger = logging.getLogger("orbiter")


class ModelCalls:
    """How one agent asks its model in one run.

    Args:
        agent: Whose model, hooks and settings.
        tries: Attempts for each call under plain `run`.
    """

    __slots__ = ("agent", "failure", "hook_error", "tries", "warnings", "where")

    def __init__(self, agent: Agent, tries: int, warnings: list[str]) -> None:
        self.agent = agent
        self.tries = tries
        self.hook_error: BaseException | None = None
        self.failure: AgentError | None = None
        self.warnings = warnings
        self.where: Mapping[str, Any] = {}

    def build_call(
        self, provider: Any, messages: list[Message], schemas: list[dict[str, Any]] | None, new_from: int
    ) -> ModelCall:
        """What to ask."""
        agent = self.agent
        return ModelCall(
            provider,
            agent.model,
            messages,
            schemas,
            agent.temperature,
            agent.max_tokens,
            agent.output_type,
            new_from,
            0,
            agent.name,
        )

    async def ask(self, scope: Scope, turn: int, call: ModelCall) -> ModelReply:
        """One LLM step.

        Raises:
            AgentError: The model failed, after attempts and fallbacks.
            Exception: A hook's own.
        """
        agent = self.agent
        hooks = agent.hook_manager.registered
        self.where = hook_location(scope, turn)
        step = Step(
            "llm",
            agent.model,
            agent.name,
            Place(turn),
            call,
            call_model,
            MODEL_CODEC,
            agent.traits if scope is steps.DIRECT else steps.with_authors(agent.traits),
            self.run_pre_hooks if HookPoint.PRE_LLM_CALL in hooks else None,
            self.run_post_hooks if HookPoint.POST_LLM_CALL in hooks else None,
            stream_model if getattr(type(call.provider), "streams", False) is True else None,
            self.tries,
            is_not_retryable,
        )
        try:
            return await scope.step(step)
        except steps.Aborted:
            raise
        except Exception as exc:
            if exc is self.hook_error:
                raise
            failure = self.record_failure(exc, call.attempts)
            # A runtime tries the fallbacks by itself, each with its own breaker.
            if scope is steps.DIRECT and agent.fallbacks and not is_context_length_error(exc):
                return await self._ask_fallbacks(step, failure, exc)
            raise failure from exc

    async def _ask_fallbacks(
        self, step: Step[ModelCall, ModelReply], failure: AgentError, cause: Exception
    ) -> ModelReply:
        """Ask the fallback models in turn; the first answer counts. PRE hooks have run already."""
        step.before = None
        for model in self.agent.fallbacks:
            call = self.switch_model(step.arguments, model, failure)
            if call is None:
                continue
            step.arguments = call
            try:
                return await steps.DIRECT.step(step)
            except Exception as exc:
                if exc is self.hook_error:
                    raise
                failure.add_note(f"Fallback model '{model}' failed too: {exc}")
        raise failure from cause

    def switch_model(self, call: ModelCall, model: str, failure: AgentError) -> ModelCall | None:
        """The question for a fallback model; None, and a note on the failure, if it has no provider."""
        try:
            changed = MODEL_CODEC.replace(call, {"model": model})
        except OrbiterError as exc:
            failure.add_note(f"Fallback model '{model}' cannot be asked: {exc}")
            return None
        warning = f"Agent '{self.agent.name}' asks '{model}' instead of '{call.model}': {failure}"
        logger.warning(warning)
        self.warnings.append(warning)
        changed.attempts = 0
        return changed

    def record_failure(self, exc: Exception, attempts: int) -> AgentError:
        """A model call's failure in the words of seed 000, also of its cause's class (seed 003), remembered as the one
        that this run may end with.
        """
        name = self.agent.name
        traits = self.agent.traits
        if not self.where and (traits.classify_error is not None or traits.retry_policy is not None):
            warn_needs_runtime(f"Agent '{name}' declares classify_error or get_retry_policy")
        said = text_of(exc) or repr(exc)
        if is_context_length_error(exc):
            text = f"Context length exceeded on agent '{name}': {said}"
        else:
            text = f"Agent '{name}' failed after {max(1, attempts)} retries: {said}"
        self.failure = join_with_cause(AgentError, text, exc)
        if isinstance(exc, ModelAPIError):
            self.failure.suggestion = exc.suggestion or exc.suggested_action
        return self.failure

    async def run_pre_hooks(self, call: ModelCall) -> None:
        """PRE_LLM_CALL hooks get the live list and may edit it."""
        await self._run_hooks(HookPoint.PRE_LLM_CALL, messages=call.messages)

    async def run_post_hooks(self, call: ModelCall, reply: ModelReply) -> None:
        """POST_LLM_CALL hooks get what the provider returned."""
        await self._run_hooks(HookPoint.POST_LLM_CALL, response=reply.output if reply.raw is None else reply.raw)

    async def _run_hooks(self, point: HookPoint, **data: Any) -> None:
        try:
            await self.agent.hook_manager.run(point, agent=self.agent, **data, **self.where)
        except Exception as exc:
            self.hook_error = exc
            raise

    def has_hooks(self, point: HookPoint) -> bool:
        """Whether any hook stands at `point`."""
        return self.agent.hook_manager.has_hooks(point)
