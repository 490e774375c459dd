"""Calls that wait for a person or for something outside: approvals, questions, results that come from elsewhere.

A call that needs approval is approved at once, and asked about where it is made: its step needs a permission, so that
it is one incident, with its arguments, which an operator grants, changes or denies. A call whose result comes from
outside is a step of its own, whose result a person gives.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

from pydantic import JsonValue, TypeAdapter
from pydantic_ai.durable_exec import ExternalEventError, ExternalEventWaiter
from pydantic_ai.exceptions import ToolFailed
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

from orbiter._internal.concurrency import gather_fail_fast
from orbiter.ask import InputDeclined, NeedsInput, ask_operator
from orbiter.guests.pydantic_ai.life import Life
from orbiter.guests.pydantic_ai.messages import arguments_text
from orbiter.guests.pydantic_ai.tool_call import TOOL_CALL, ToolAsk, call_tool
from orbiter.steps import Codec, Step, Traits, entered

_RESULTS: TypeAdapter[DeferredToolResults] = TypeAdapter(DeferredToolResults)
_ASKING = Traits(idempotent=True)


async def resolve(life: Life, requests: DeferredToolRequests) -> DeferredToolResults:
    """The results of deferred calls; waits for as long as a person is needed, for each call by itself."""
    life.approved.update(call.tool_call_id for call in requests.approvals)
    waiting = [_ask_result(life, call, requests.metadata.get(call.tool_call_id) or {}) for call in requests.calls]
    given = await gather_fail_fast(waiting) if waiting else []
    return requests.build_results(
        approvals={call.tool_call_id: True for call in requests.approvals},
        calls={call.tool_call_id: value for call, value in zip(requests.calls, given, strict=True)},
    )


async def _ask_result(life: Life, call: ToolCallPart, metadata: Mapping[str, Any]) -> Any:
    """What a person gives as the result of a call. A `schema` in the call's metadata is the form of the answer, a
    `question` there is what is asked.
    """
    schema = metadata.get("schema")
    question = NeedsInput(
        str(metadata.get("question") or f"What is the result of {call.tool_name}({arguments_text(call)})?"),
        schema if isinstance(schema, Mapping) else None,
    )
    ask = ToolAsk(call.tool_name, call.tool_call_id, call.args_as_dict(), question=question)
    place = life.place_of_call(call.tool_name, call.tool_call_id)
    step = Step("tool", call.tool_name, life.agent, place, ask, call_tool, TOOL_CALL, _ASKING)
    outcome = (await life.scope.step(step))["outcome"]
    return ToolFailed(outcome["message"]) if outcome["kind"] == "tool_failed" else outcome["result"]


class _AskCodec(Codec[tuple[Callable[[str], Awaitable[JsonValue]], str], JsonValue]):
    """What `ask` answered at once; None where it handed the token on."""

    def describe(self, arguments: tuple[Callable[[str], Awaitable[JsonValue]], str]) -> dict[str, Any]:
        return {"token": arguments[1]}

    def dump(self, result: JsonValue) -> Any:
        return result

    def load(self, value: Any) -> JsonValue:
        answer: JsonValue = value
        return answer


_ASK = _AskCodec()


async def _call_ask(arguments: tuple[Callable[[str], Awaitable[JsonValue]], str]) -> JsonValue:
    ask, token = arguments
    return await ask(token)


class OperatorWaiter(ExternalEventWaiter):
    """Waits inside the run until an operator answers. `ask` is called once, as a step; where it answers, its answer
    counts. A time-out is the runtime's matter: what waits for a person waits as `errors.error_recovery_timeout` says.
    """

    def __init__(self, life: Life) -> None:
        self._life = life

    async def wait(
        self, name: str, *, ask: Callable[[str], Awaitable[JsonValue]], timeout: timedelta | None
    ) -> JsonValue:
        life = self._life
        place = life.place_of(f"wait {name}")
        token = f"{life.scope.run_id}/{life.scope.node_id}/{name}~{place}"
        said = await life.scope.step(Step("value", f"wait {name}", life.agent, place, (ask, token), _call_ask, _ASK))
        if said is not None:
            return said
        if life.deferred is not None:
            waiting, life.deferred = life.deferred, None
            answer: JsonValue = _RESULTS.dump_python(await resolve(life, waiting), mode="json")
            return answer
        try:
            with entered(life.scope):
                given: JsonValue = await ask_operator(f"The agent waits for {name!r}", {}, number=place.seq)
        except InputDeclined as exc:
            raise ExternalEventError(str(exc)) from exc
        return given
