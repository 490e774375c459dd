"""What everything that runs several agents has in common: one `run`, one node of the run's tree, one way to fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from orbiter import steps
from orbiter._internal.groups.members import RunSettings
from orbiter._internal.groups.partial_results import partial_result_of
from orbiter._internal.loop.tool_step import as_text
from orbiter.steps import DIRECT, Scope, ScopeKind, Skipped
from orbiter.types import Message, RunResult


class Container(ABC):
    """Groups, nested swarms, swarms. Nothing in them changes while they run."""

    name: str
    takes_loop_threshold = True
    _kind: ScopeKind = "group"

    async def run(
        self,
        input: str,
        *,
        messages: list[Message] | None = None,
        provider: Any = None,
        max_retries: int = 3,
        loop_threshold: int = 3,
    ) -> RunResult:
        """Run the members on `input`.

        Args:
            input: What the user says.
            messages: The conversation before.
            provider: Who answers for all members; None: each member's own model decides.
            max_retries: Attempts for each model call, as in `Agent.run`.
            loop_threshold: Equal tool calls in a row that make an endless loop; 0 or less: no check.

        Raises:
            OrbiterError: A member failed, or the members cannot be run like this.
        """
        settings = RunSettings(provider, max_retries, loop_threshold)
        if not steps.inside():
            # Nobody to ask, nothing to record.
            return await self._carry_out(input, DIRECT, settings, messages)
        async with steps.opening(self._kind, self.name, self._info(input)) as scope:
            while True:
                try:
                    try:
                        result = await self._carry_out(input, scope, settings, messages)
                    except Exception as exc:
                        answer = await scope.fault(exc)
                        partial = partial_result_of(exc, self.name) if answer.option == "accept" else None
                        if partial is not None:
                            result = partial
                        elif answer.option == "input":
                            input = as_text(answer.value)
                            continue
                        elif answer.option == "retry":
                            continue
                        else:
                            raise
                except Skipped as skipped:  # a member, or, as the answer to its own fault, the whole of it
                    result = RunResult(output=as_text(skipped.value), agent=self.name, state="completed")
                if result.state == "degraded":
                    scope.outcome(result.output, state="degraded", note="; ".join(result.warnings))
                else:
                    scope.outcome(result.output)
                return result

    @abstractmethod
    async def _carry_out(
        self, input: str, scope: Scope, settings: RunSettings, messages: list[Message] | None
    ) -> RunResult:
        """The body. Done again after a fault, so it must be deterministic."""

    def _info(self, input: str) -> dict[str, Any]:
        return {"task": as_text(input), "members": self._members()}

    @abstractmethod
    def _members(self) -> list[str]:
        """The members' names, in their order."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(name={self.name!r}, agents={self._members()!r})"
