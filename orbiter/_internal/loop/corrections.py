"""Corrections of a model: loops, malformed arguments, output that does not fit; what it is told, and how often."""

from __future__ import annotations

from typing import TYPE_CHECKING

from orbiter._internal.loop.tool_step import ToolInvocation, as_text
from orbiter._internal.output_parser import OutputParseError, parse_structured_output
from orbiter.types import AgentOutput, UserMessage

if TYPE_CHECKING:
    from orbiter._internal.loop.agent_run_data import AgentRunData


def find_mistake(run: AgentRunData, output: AgentOutput, invocations: list[ToolInvocation]) -> Exception | None:
    """Look at the calls of the last reply before they are made, and count. A `LoopDetectedError`: the same calls too
    often in a row; an `OutputParseError`: malformed arguments in too many replies in a row.
    """
    loop = run.loop_detector.add(invocations) if run.loop_detector is not None else None
    bad = None
    for each in invocations:
        if each.malformed:
            bad = each
            break
    run.invalid_replies = run.invalid_replies + 1 if bad is not None else 0
    if bad is not None and run.invalid_replies >= run.tries:
        # Also where the same malformed calls repeat: why they cannot be carried out says more.
        return OutputParseError(bad.problem or "", raw=output.text)
    return loop


async def ask_about(run: AgentRunData, mistake: Exception) -> str | None:
    """Let an operator decide on what `find_mistake` found. Returns what they say to the model, if anything.

    Raises:
        Exception: The mistake, under plain `run`, or where the answer is not to go on.
    """
    detector = run.loop_detector
    answer = await run.scope.fault(mistake, at=run.turn - 1)
    if answer.option not in ("input", "retry"):
        raise mistake
    if detector is not None and detector.is_loop:
        detector.clear()
    if isinstance(mistake, OutputParseError):
        run.invalid_replies = 0
    return as_text(answer.value) if answer.option == "input" else None


async def validate_output(run: AgentRunData, output: AgentOutput) -> AgentOutput | None:
    """The last reply as an answer, validated; None if it does not fit and the model has been told so.

    Raises:
        OutputParseError: Too many answers in a row do not fit.
    """
    expected = run.agent.output_type
    if expected is None:
        return output
    try:
        return output.model_copy(update={"parsed": parse_structured_output(output.text, expected)})
    except OutputParseError as exc:
        error = exc
    run.invalid_replies += 1
    if run.invalid_replies < run.tries:
        run.messages.append(UserMessage(content=_correction_text(error)))
        return None
    answer = await run.scope.fault(error, at=run.turn - 1)
    run.invalid_replies = 0
    if answer.option == "result":
        text = as_text(answer.value)
        return AgentOutput(text=text, usage=output.usage, parsed=parse_structured_output(text, expected))
    if answer.option not in ("input", "retry"):
        raise error
    said = as_text(answer.value) if answer.option == "input" else _correction_text(error)
    run.messages.append(UserMessage(content=said))
    return None


def _correction_text(error: OutputParseError) -> str:
    return f"{error}\nReply again with only the corrected JSON."
