"""The tool step: arguments, result, how both are recorded, and the one call.

A failure is a result: `ToolResult(error=…)` goes to the model, which is often better at recovering than we are
(seed 000, "Tool Errors Are Captured, Not Propagated"). The exception is a tool that was declared ``failure="fail"``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from orbiter import steps
from orbiter._internal.tools.tool_context import TOOL_CONTEXT, ToolContext
from orbiter._internal.tools.tool_options import check_retry_policy
from orbiter.errors import ToolCallError, ToolExecutionError, text_of
from orbiter.steps import NO_TRAITS, Codec, Traits
from orbiter.text_encoding import drop_surrogates
from orbiter.tool import Tool, result_content
from orbiter.types import ToolResult, content_text

# A call of a tool that is not there touches nothing, whatever its arguments.
UNKNOWN_TOOL_TRAITS = Traits(idempotent=True)
_EMPTY: Mapping[str, Any] = {}


@dataclass(slots=True, eq=False)
class ToolInvocation:
    """One call of a tool. `problem` says, for the model, why it cannot be made; then `tool` is not run."""

    tool: Any
    tool_name: str
    arguments: dict[str, Any]
    tool_call_id: str
    agent: Any = None
    problem: str | None = None
    hint: str = ""
    """What the model can do about the problem, below the error."""
    malformed: bool = False
    """The arguments are not a JSON object: the model's mistake, counted against `max_retries`."""

    def context(self) -> ToolContext:
        """What the tool may know of this call."""
        scope = steps.current()
        return ToolContext(
            getattr(self.agent, "name", ""),
            self.tool_name,
            self.tool_call_id,
            scope.run_id,
            scope.node_id,
            scope=scope,
            metadata=_metadata(self.agent),
        )


def traits_of(tool: Any) -> Traits:
    """What the tool's author declared; nothing for a tool that knows no traits."""
    found = getattr(tool, "traits", None)
    traits = found if isinstance(found, Traits) else NO_TRAITS
    classify_error, policy = getattr(tool, "classify_error", None), getattr(tool, "get_retry_policy", None)
    if classify_error is None and policy is None:
        return traits
    return replace(
        traits,
        classify_error=traits.classify_error or classify_error,
        retry_policy=traits.retry_policy or check_retry_policy(policy),
    )


def as_text(value: Any) -> str:
    """A value that was given in place of text: text as it is, everything else as `result_content` writes it."""
    if isinstance(value, str):
        return value
    return content_text(result_content(value))


def tool_result_of(invocation: ToolInvocation, value: Any) -> ToolResult:
    """What a tool returned as the message that the model gets."""
    content = result_content(value)
    if isinstance(content, str):
        content = drop_surrogates(content)
    return ToolResult(tool_call_id=invocation.tool_call_id, tool_name=invocation.tool_name, content=content)


def tool_error_of(invocation: ToolInvocation, error: str, hint: str = "") -> ToolResult:
    """What went wrong, and what to do about it, as the message that the model gets."""
    return ToolResult(
        tool_call_id=invocation.tool_call_id, tool_name=invocation.tool_name, content=hint, error=drop_surrogates(error)
    )


async def invoke_tool(invocation: ToolInvocation) -> ToolResult:
    """Validate the arguments and run the tool once; a tool that is not ours is simply executed.

    What the tool raises passes; `TOOL_CODEC.absorb` makes a result of it.
    """
    if invocation.problem is not None:
        return tool_error_of(invocation, invocation.problem, invocation.hint)
    tool, arguments = invocation.tool, invocation.arguments
    token = TOOL_CONTEXT.set(invocation.context)
    try:
        value = await (tool.invoke(arguments) if isinstance(tool, Tool) else tool.execute(**arguments))
    except asyncio.CancelledError as exc:
        # One that was not requested (something that the tool awaited was cancelled) is the tool's failure.
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise
        name = invocation.tool_name
        said = "something that it waited for was cancelled"
        raise ToolExecutionError(f"Tool '{name}' failed: {said}", tool_name=name, execution_error=said) from exc
    finally:
        TOOL_CONTEXT.reset(token)
    return tool_result_of(invocation, value)


def _metadata(agent: Any) -> Mapping[str, Any]:
    context = getattr(agent, "context", None)
    if isinstance(context, Mapping):
        return context
    return _EMPTY if context is None else {"context": context}


def _policy_of(agent: Any) -> str:
    return getattr(getattr(agent, "failure", None), "tool", "")


class ToolCodec(Codec[ToolInvocation, ToolResult]):
    """Arguments are recorded with the call's id, results as content or error."""

    def describe(self, arguments: ToolInvocation) -> dict[str, Any]:
        return {"id": arguments.tool_call_id, "arguments": _copied(arguments.arguments)}

    def dump(self, result: ToolResult) -> Any:
        return result.model_dump(mode="json")

    def load(self, value: Any) -> ToolResult:
        return ToolResult.model_validate(value)

    def editable(self, arguments: ToolInvocation) -> dict[str, Any] | None:
        """The arguments as they are now: a PRE_TOOL_CALL hook may edit the dict."""
        return {"arguments": _copied(arguments.arguments)}

    def replace(self, arguments: ToolInvocation, changes: Mapping[str, Any]) -> ToolInvocation:
        """Other arguments, put in place; they heal a call that could not be made, if the tool exists."""
        unknown = set(changes) - {"arguments", "id"}
        if unknown:
            raise ValueError(f"A tool step takes 'arguments', not {', '.join(map(repr, sorted(unknown)))}")
        if "arguments" not in changes:
            return arguments
        given = dict(changes["arguments"])
        arguments.arguments.clear()
        arguments.arguments.update(given)
        if arguments.tool is not None:
            arguments.problem = None
            arguments.malformed = False
        return arguments

    def absorb(self, arguments: ToolInvocation, exc: Exception) -> ToolResult | None:
        """The error for the model; None where the tool's author wants its failure to fail the agent."""
        policy = traits_of(arguments.tool).failure or _policy_of(arguments.agent)
        if policy == "fail" and not isinstance(exc, ToolCallError):
            return None
        return tool_error_of(arguments, text_of(exc) or type(exc).__name__)

    def misfit(self, arguments: ToolInvocation) -> ToolCallError | None:
        """By the tool's own check, which may be its author's code."""
        if not isinstance(arguments.tool, Tool):
            return None
        try:
            arguments.tool.validate(_copied(arguments.arguments))
        except ToolCallError as exc:
            return exc
        except Exception:  # not a matter of fitting: the call itself says what it is
            return None
        return None

    def by_hand(self, arguments: ToolInvocation, value: Any) -> ToolResult:
        return tool_result_of(arguments, value)


_ATOMS = frozenset({str, int, float, bool, type(None)})


def _copied(arguments: dict[str, Any]) -> dict[str, Any]:
    """As `deepcopy`, which takes several times as long for what a model writes: JSON."""
    try:
        return {key: _copied_value(each) for key, each in arguments.items()}
    except RecursionError:  # a hook put something into itself
        return deepcopy(arguments)


def _copied_value(value: Any) -> Any:
    kind = type(value)
    if kind in _ATOMS:
        return value
    if kind is dict:
        return {key: _copied_value(each) for key, each in value.items()}
    if kind is list:
        return [_copied_value(each) for each in value]
    return deepcopy(value)


TOOL_CODEC = ToolCodec()
