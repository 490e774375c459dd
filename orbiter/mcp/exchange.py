"""A call of a tool with all that comes of it: questions that a person answers, a state that expired, a changed tool.

Each round with the server is a step, each question another, so that an answer may come after days, with both sides
restarted. The body is deterministic: done again, it says the same steps under the same places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from orbiter.ask import InputDeclined, ask_operator
from orbiter.errors import ToolError
from orbiter.mcp.call import SERVER_CALL, ServerCall, ServerResult, call_tool, call_tool_with_progress
from orbiter.mcp.questions import ask_request, identity, refused_request
from orbiter.mcp.tool_definition import ToolDefinition, difference, plain_name
from orbiter.steps import Place, Scope, Step, Traits

MAX_ROUNDS = 30
"""Rounds that one call may take: a server that only ever asks is stopped."""
_ACCEPT, _REFUSE = "use the tool as it is now", "do not use it"


class Exchange:
    """See the module.

    Args:
        scope: The node of the call.
        agent: Who calls.
        call: The first round.
        traits: Of each round.
    """

    def __init__(self, scope: Scope, agent: str, call: ServerCall, traits: Traits) -> None:
        self._scope = scope
        self._agent = agent
        self._call = call
        self._traits = traits
        self._answered: dict[str, dict[str, Any]] = {}
        self._asked = 0
        self._expired = False
        self._same: tuple[Place, ...] = ()
        """The rounds so far of this very call: this tool as it is, with these arguments."""

    async def run(self) -> ServerResult:
        """The final result.

        Raises:
            ToolError: The exchange cannot be brought to an end; the text is for the model.
        """
        for number in range(MAX_ROUNDS):
            result = await self._round(number)
            found = result.exchange
            if found is None:
                return result
            again = replace(self._call, arguments=dict(found["arguments"]), answers=None, state=None)
            self._same = (*(self._same if again.arguments == self._call.arguments else ()), Place(number))
            self._call = again
            if found["kind"] == "changed":
                await self._accept_change(ToolDefinition.from_json(found["now"]))
            elif found["kind"] == "expired":
                self._expired = True
            else:
                await self._take_questions(found)
        raise ToolError(f"Tool '{self._call.name}' failed: the server went on asking after {MAX_ROUNDS} rounds")

    async def _round(self, number: int) -> ServerResult:
        return await self._scope.step(
            Step(
                kind="tool",
                name=f"{self._call.server}.{plain_name(self._call.tool.name)}",
                agent=self._agent,
                place=Place(number),
                arguments=self._call,
                call=call_tool,
                codec=SERVER_CALL,
                traits=self._traits,
                stream=call_tool_with_progress,
                continues=self._same,
            )
        )

    async def _take_questions(self, found: Mapping[str, Any]) -> None:
        """Answer what the server asks, for the next round."""
        requests = found["requests"]
        if refused := refused_request(requests):
            raise ToolError(f"Tool '{self._call.name}' failed: the server asks for {refused}")
        answers = {key: await self._answer(key, request) for key, request in requests.items()}
        if not found["answered"]:
            # An address was to be opened first: the call was not carried out, and is made again as it was.
            if any(each["action"] != "accept" for each in answers.values()):
                raise ToolError(f"Tool '{self._call.name}' failed: the operator did not open the address it asks for")
            return
        self._call = replace(self._call, answers=answers, state=found["state"])

    async def _answer(self, key: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a question. After a state expired the server asks again: the same question has its answer."""
        known = identity(key, request)
        if self._expired and known in self._answered:
            return self._answered[known]
        number, self._asked = self._asked, self._asked + 1
        given = await ask_request(self._call.server, request, number)
        self._answered[known] = given
        return given

    async def _accept_change(self, now: ToolDefinition) -> None:
        """Ask whether a tool may be used that is not as the model was told."""
        number, self._asked = self._asked, self._asked + 1
        if not await accept_change(self._call.server, [(self._call.tool, now)], number):
            raise ToolError(
                f"Tool '{self._call.name}' failed: the server has changed it, and the operator does not accept that"
            )
        self._call = replace(self._call, tool=now)
        self._same = ()


async def accept_change(server: str, changed: list[tuple[ToolDefinition, ToolDefinition]], number: int) -> bool:
    """Ask a person whether changed tools may be used; the difference is shown."""
    shown = "\n".join(f"{now.name}:\n{difference(was, now)}" for was, now in changed)
    question = f"The MCP server {server} has changed tools since they were approved.\n{shown}"
    try:
        answer = await ask_operator(question, {"type": "string", "enum": [_ACCEPT, _REFUSE]}, number=number)
    except InputDeclined:
        return False
    return bool(answer == _ACCEPT)
