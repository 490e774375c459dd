"""Results of runs: one agent's run as a `RunResult`, and sums of usage."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from orbiter._internal.values.frozen import build_checked
from orbiter.errors import ExecutionError
from orbiter.steps import DIRECT
from orbiter.types import AgentOutput, Message, RunResult, Usage

if TYPE_CHECKING:
    from orbiter._internal.loop.agent_run import AgentRun

# Without validation, which would build a validator while modules load.
_BLANK = vars(RunResult.model_construct(steps=1, stop_reason="stop", state="completed"))
_COUNTS: Final = set(Usage.model_fields)
_NAMED: Final = {
    "output", "messages", "usage", "steps", "parsed", "agent", "stop_reason", "state", "warnings", "outputs",
}  # fmt: skip
"""What each result of an agent's run says, in place of a field's default."""


class StreamNotFinishedError(ExecutionError, RuntimeError):
    """The result of a stream was asked for before the stream came to its end."""


def result_of(
    name: str, output: AgentOutput, transcript: list[Message], usage: Usage, run: AgentRun | None = None
) -> RunResult:
    """The result of one agent's run; `run` is None for an agent that is not ours."""
    values, named = _BLANK.copy(), _NAMED
    values["output"] = output.text
    values["messages"] = transcript
    values["usage"] = usage
    values["parsed"] = output.parsed
    values["agent"] = name
    values["warnings"] = [] if run is None else run.warnings
    values["outputs"] = {}
    if run is not None:
        if run.exhausted:
            values["stop_reason"] = "max_steps"
        elif run.reply is not None and run.reply.finish_reason:
            values["stop_reason"] = run.reply.finish_reason
        if run.degraded:
            values["state"], values["error"] = "degraded", run.degraded
            named = {*named, "error"}
        if run.scope is not DIRECT:
            values["run_id"] = run.scope.run_id
            named = {*named, "run_id"}
    return build_checked(RunResult, values, named)


def copy_result(result: RunResult, fields: dict[str, Any]) -> RunResult:
    """The same with other values in some fields, as `model_copy` has it."""
    if type(result) is not RunResult:  # a subclass, which may have more than its fields
        return result.model_copy(update=fields)
    return build_checked(RunResult, {**vars(result), **fields}, {*result.model_fields_set, *fields})


def sum_usage(parts: Sequence[Usage]) -> Usage:
    """The sum of what several calls used: counts that were checked when they came."""
    if len(parts) == 1:
        return parts[0]
    read = written = whole = cached = stored = reasoned = 0
    for part in parts:
        read += part.input_tokens
        written += part.output_tokens
        whole += part.total_tokens
        cached += part.cached_tokens
        stored += part.cache_write_tokens
        reasoned += part.reasoning_tokens
    counts = {
        "input_tokens": read,
        "output_tokens": written,
        "total_tokens": whole,
        "cached_tokens": cached,
        "cache_write_tokens": stored,
        "reasoning_tokens": reasoned,
    }
    return build_checked(Usage, counts, _COUNTS)
