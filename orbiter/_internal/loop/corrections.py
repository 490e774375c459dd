"""Corrections of a model: loops, malformed arguments, output that does not fit; what it is told, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orbiter._internal.loop.tool_step import ToolInvocation, as_text
from orbiter._internal.output_parser import OutputParseError, parse_structured_output
from orbiter.types import AgentOutput, Message, UserMessage

if TYPE_CHECKING:
    from orbiter._internal.loop.loop_detection import LoopDetector
    from orbiter.agent import Agent
    from orbiter.steps import Scope


class Corrections:
    """Watches the replies of one run.

    Args:
        agent: Whose output type counts.
        tries: How many replies in a row a model may spoil before the run fails.
        loop_detector: Counts equal tool calls in a row; None: no check.
    """

    __slots__ = ("agent", "invalid_replies", "loop_detector", "tries")

    def __init__(self, agent: Agent, tries: int, loop_detector: LoopDetector | None) -> None:
        self.agent = agent
        self.tries = tries
        self.loop_detector = loop_detector
        self.invalid_replies = 0

    def restart(self) -> None:
        """The body is done again: the same replies will be counted again."""
        self.invalid_replies = 0
        if self.loop_detector is not None:
            self.loop_detector.rewind()

    async def check_calls(
        self, scope: Scope, turn: int, output: AgentOutput, invocations: list[ToolInvocation]
    ) -> str | None:
        """Look at the calls of a reply before they are made. Returns what an operator says to the model.

        Raises:
            LoopDetectedError: The same calls too often in a row.
            OutputParseError: Malformed arguments in too many replies in a row.
        """
        loop = self.loop_detector.add(invocations) if self.loop_detector is not None else None
        bad = None
        for each in invocations:
            if each.malformed:
                bad = each
                break
        self.invalid_replies = self.invalid_replies + 1 if bad is not None else 0
        error: Exception | None = loop
        if bad is not None and self.invalid_replies >= self.tries:
            # Also where the same malformed calls repeat: why they cannot be carried out says more.
            error = OutputParseError(bad.problem or "", raw=output.text)
        if error is None:
            return None
        answer = await scope.fault(error, at=turn)
        if answer.option not in ("input", "retry"):
            raise error
        if self.loop_detector is not None and loop is not None:
            self.loop_detector.clear()
        if error is not loop:
            self.invalid_replies = 0
        return as_text(answer.value) if answer.option == "input" else None

    async def validate_output(
        self, scope: Scope, turn: int, output: AgentOutput, messages: list[Message]
    ) -> AgentOutput | None:
        """An answer, validated; None if it does not fit and the model has been told so.

        Raises:
            OutputParseError: Too many answers in a row do not fit.
        """
        expected = self.agent.output_type
        if expected is None:
            return output
        try:
            return output.model_copy(update={"parsed": parse_structured_output(output.text, expected)})
        except OutputParseError as exc:
            error = exc
        self.invalid_replies += 1
        if self.invalid_replies < self.tries:
            messages.append(UserMessage(content=_correction_text(error)))
            return None
        answer = await scope.fault(error, at=turn)
        self.invalid_replies = 0
        if answer.option == "result":
            text = as_text(answer.value)
            return AgentOutput(text=text, usage=output.usage, parsed=parse_structured_output(text, expected))
        if answer.option not in ("input", "retry"):
            raise error
        said = as_text(answer.value) if answer.option == "input" else _correction_text(error)
        messages.append(UserMessage(content=said))
        return None


def _correction_text(error: OutputParseError) -> str:
    return f"{error}\nReply again with only the corrected JSON."
