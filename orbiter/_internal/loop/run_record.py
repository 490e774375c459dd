"""One agent run's entry in a `RunState` (seed 001, "RunState")."""

from __future__ import annotations

import builtins
from typing import TYPE_CHECKING

from orbiter._internal.error_causes import unwrap_single_group
from orbiter.errors import AgentError, LoopDetectedError
from orbiter.types import AssistantMessage, RunResult

if TYPE_CHECKING:
    from orbiter._internal.loop.loop_detection import LoopDetector
    from orbiter._internal.state import RunState

_SIGNATURE = "tool_signature"
_COUNT = "tool_repeats"


class RunRecorder:
    """Opens a node for a run, and closes it. `loop_detector` goes on from where the state's last runs stand."""

    __slots__ = ("loop_detector", "node", "state")

    def __init__(self, state: RunState, agent_name: str, loop_detector: LoopDetector) -> None:
        last: str | None = None
        count = 0
        for earlier in state.nodes:
            said = earlier.metadata.get(_SIGNATURE)
            if said is None or said != last:
                last, count = said, 0
            count += earlier.metadata.get(_COUNT, 1) if said is not None else 0
        loop_detector.resume(last, count)
        self.state = state
        self.loop_detector = loop_detector
        self.node = state.new_node(agent_name)
        state.start()
        self.node.start()

    def succeed(self, result: RunResult) -> RunResult:
        """The run ended well. Returns its result with the state's usage and number of agent runs."""
        self._note_calls()
        self.node.tool_calls = [
            call for message in result.messages if isinstance(message, AssistantMessage) for call in message.tool_calls
        ]
        self.node.succeed(result.usage)
        self.state.messages = list(result.messages)
        self.state.record_usage(result.usage)
        self.state.succeed()
        return result.model_copy(update={"usage": self.state.total_usage, "steps": len(self.state.nodes)})

    def fail(self, exc: Exception) -> None:
        """The run failed. A time-out is one, a loop is called by seed 001's words."""
        self._note_calls()
        cause = unwrap_single_group(exc)
        # What spent its retries is an `AgentError` with the last failure as its cause.
        ended_by = cause.__cause__ if isinstance(cause, AgentError) else cause
        if isinstance(cause, builtins.TimeoutError) or isinstance(ended_by, builtins.TimeoutError):
            self.node.timeout(str(cause))
            self.state.timeout(str(cause))
            return
        text = "Endless loop detected" if isinstance(cause, LoopDetectedError) else str(cause)
        self.node.fail(text)
        self.state.fail(text)

    def cancel(self) -> None:
        """The run was withdrawn."""
        self._note_calls()
        self.state.cancel()

    def _note_calls(self) -> None:
        if self.loop_detector.signature is not None and self.loop_detector.own:
            # Counts of earlier runs are in their own nodes.
            self.node.metadata[_SIGNATURE] = self.loop_detector.signature
            self.node.metadata[_COUNT] = self.loop_detector.own
