"""`mcp_tools`: the tools of a server as tools of an agent. Nothing connects before an agent with them runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from orbiter import steps
from orbiter._internal.tools.toolset import Toolset
from orbiter.errors import AgentError, ConfigurationError, ToolError
from orbiter.guests.tool_settings import ToolSettings
from orbiter.mcp.call import ServerCall
from orbiter.mcp.definition import SERVER_NAME
from orbiter.mcp.exchange import Exchange, accept_change
from orbiter.mcp.failures import classify_error
from orbiter.mcp.foreign_text import clean_line
from orbiter.mcp.listing import LISTING, Listing, ListingRequest, list_tools
from orbiter.mcp.table import ServerTable, local_table
from orbiter.mcp.tool_definition import ToolDefinition, plain_name
from orbiter.mcp.tool_names import distinct_names, model_name
from orbiter.steps import Place, Scope, Step, Traits
from orbiter.tool import Tool, current_tool_context

_CALLS = 1_000
"""Places of the second listing, behind those of the first."""
_NOT_OFFERED = frozenset({"edit"})
"""A list of tools has no arguments to change: its failures are ended by the server, or by its definition."""


def mcp_tools(server: str, *, only: Iterable[str] | None = None) -> ServerTools:
    """The tools of an MCP server, for `Agent(tools=…)`: as it is, or among others with a star.

    Args:
        server: The server's name in `.mcp.json` or `orbiter.toml`.
        only: The server's own names of the tools that the agent gets; None: all of them.

    Returns:
        A tool set; the server is asked what it has when the agent runs.

    Raises:
        AgentError: `server` is not a server's name, or `only` is empty.

    Examples:
        >>> from orbiter import Agent
        >>> from orbiter.mcp import mcp_tools
        >>> Agent(name="clerk", tools=[mcp_tools("files", only=["read_file"])]).describe()["tools"]
        ['mcp:files']
    """
    if not SERVER_NAME.fullmatch(str(server)):
        raise AgentError(
            f"mcp_tools() takes the name of a server, got {server!r}", suggestion='Write mcp_tools("files").'
        )
    wanted = tuple(dict.fromkeys(only)) if only is not None else ()
    if only is not None and not wanted:
        raise AgentError(f"mcp_tools({server!r}): only= names no tool", suggestion="Leave it out to get all tools.")
    return ServerTools(server, wanted)


class ServerTools(Toolset):
    """The tools of one server. It iterates as itself, so that ``tools=[*mcp_tools("files"), …]`` works."""

    def __init__(self, server: str, only: tuple[str, ...]) -> None:
        self.name = f"mcp:{server}"
        self.server = server
        self.only = only

    def __iter__(self) -> Iterator[Toolset]:
        yield self

    async def open(self, agent: str, number: int, others: Mapping[str, Any]) -> list[Tool]:
        """The tools, listed as a step of the agent that runs."""
        scope = steps.current()
        table = scope.mcp_servers() or local_table()
        request = ListingRequest(table, self.server, scope.run_id, self.only)
        listing = await self._list(scope, agent, request, number)
        if listing.changed:
            digests = tuple(now.digest for _, now in listing.changed)
            if await accept_change(self.server, list(listing.changed), 900 + number):
                listing = await self._list(scope, agent, replace(request, accept=digests), _CALLS + number)
        if listing.note:
            scope.warn(f"MCP server {self.server}: {listing.note}")
        settings = _settings(table, self.server)
        taken = {
            name: (tool.server, tool.own_name) if isinstance(tool, ServerTool) else ("", name)
            for name, tool in others.items()
        }
        names = distinct_names(self.server, [each.name for each in listing.tools], taken)
        for own, name in names.items():
            usual = model_name(self.server, own)
            if name != usual:
                scope.warn(
                    f"MCP server {self.server}: the model knows the tool {clean_line(own, 80)!r} as {name}: another"
                    f" tool of the agent has the name {usual}. To leave one of them out, name the others with only=[…]"
                )
        return [
            ServerTool(table, self.server, each, settings.get(each.name), names[each.name]) for each in listing.tools
        ]

    async def _list(self, scope: Scope, agent: str, request: ListingRequest, number: int) -> Listing:
        traits = Traits(idempotent=True, server=self.server, classify_error=classify_error, not_offered=_NOT_OFFERED)
        name = f"{self.server}.list_tools"
        return await scope.step(Step("tool", name, agent, Place(number), request, list_tools, LISTING, traits))


def _settings(table: ServerTable, name: str) -> dict[str, ToolSettings]:
    """What the operator declares of the server's tools; nothing where its definition is gone since."""
    try:
        return dict(table.server(name).tools)
    except ConfigurationError:
        return {}


class ServerTool(Tool):
    """A tool of a server. Its call is a node: each round with the server, and each question, is a step in it.

    What the server says of a tool's behaviour is shown to the operator and changes nothing: only what the operator
    declares lets a call be made again after a crash.
    """

    composite = True

    def __init__(
        self, table: ServerTable, server: str, definition: ToolDefinition, settings: ToolSettings | None, name: str
    ) -> None:
        self._table = table
        self.server = server
        self._definition = definition
        self.own_name = definition.name
        self.name = name
        self.description = definition.description
        self.parameters = definition.schema
        declared = settings or ToolSettings()
        self.traits = Traits(failure=declared.failure)
        self._call_traits = replace(
            declared.traits(f"mcp.call:{server}/{plain_name(definition.name)}", schema=definition.schema),
            risk=declared.risk or _risk(definition),
            server=server,
            classify_error=classify_error,
        )

    async def execute(self, **kwargs: Any) -> Any:
        """Call it, with all that comes of it.

        Raises:
            ToolError: The server refused, or the tool failed; the text is for the model.
        """
        context = current_tool_context()
        scope = steps.current()
        call = ServerCall(
            table=self._table,
            server=self.server,
            tool=self._definition,
            name=self.name,
            call_id=context.tool_call_id,
            arguments=kwargs,
            run_id=scope.run_id,
            failure=self.traits.failure,
            idempotent=self._call_traits.idempotent,
        )
        result = await Exchange(scope, context.agent, call, self._call_traits).run()
        if result.error is not None:
            raise ToolError(result.error)
        return result.content


def _risk(definition: ToolDefinition) -> str:
    """What the server itself says of the risk, for the operator who is asked."""
    hints = definition.hints
    if hints.get("readOnlyHint"):
        return "the server says: reads only"
    if hints.get("destructiveHint"):
        return "the server says: may destroy"
    return ""
