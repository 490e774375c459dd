"""The step that lists a server's tools. A later life of the run gets the recorded list: the model is told the same.

Tools that were approved before and have changed since are left out, with the difference, until a person accepts them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from orbiter.errors import ToolCallError
from orbiter.mcp.connection import connected
from orbiter.mcp.foreign_text import clean_line
from orbiter.mcp.table import ServerTable
from orbiter.mcp.tool_definition import ToolDefinition, read_definition
from orbiter.steps import Codec

MAX_TOOLS = 500
"""Tools of one server that an agent gets."""
_MAX_NAMED = 5


@dataclass(frozen=True, slots=True)
class ListingRequest:
    """What is listed. `only`: the server's own names of the tools that are wanted; empty: all. `accept`: digests of
    changed tools that a person accepted.
    """

    table: ServerTable
    server: str
    run_id: str = ""
    only: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """What a server offers. `changed`: tools that are not as they were approved, as pairs of then and now. `note`: why
    the list is not complete, in words.
    """

    tools: tuple[ToolDefinition, ...] = ()
    changed: tuple[tuple[ToolDefinition, ToolDefinition], ...] = ()
    note: str = ""
    names: tuple[str, ...] = field(default=())
    """Every name that the server has, for messages."""


async def list_tools(request: ListingRequest) -> Listing:
    """The tools of the server as they are now. What is new is remembered; what has changed waits for a person.

    Raises:
        ServerUnreachable: The server cannot be reached.
        UnusableToolList: What it gives is not a list of tools.
        ConfigurationError: It is not known, not approved, or wants a login.
    """
    table, name = request.table, request.server
    async with connected(table, name, request.run_id) as session:
        raw = await session.tools()
    names = tuple(sorted(raw))
    wanted = {each: tool for each, tool in raw.items() if not request.only or each in request.only}
    read = {each: read_definition(tool.model_dump(mode="json", by_alias=True)) for each, tool in wanted.items()}
    left_out = sorted(each for each, found in read.items() if found is None)
    missing = sorted(set(request.only) - raw.keys())
    known = await asyncio.to_thread(table.approvals.tools, table.workspace, name)
    usable = [each for each, found in read.items() if found is not None]
    too_many = usable[MAX_TOOLS:]
    for each in too_many:
        read[each] = None
    tools, changed = [], []
    for each, found in read.items():
        if found is None:
            continue
        before = known.get(each)
        changes = isinstance(before, Mapping) and before.get("digest") != found.digest
        if before is not None and changes and found.digest not in request.accept:
            changed.append((ToolDefinition.from_json(before), found))
        else:
            tools.append(found)
    fresh = {each.name: each.to_json() for each in tools if known.get(each.name, {}).get("digest") != each.digest}
    if fresh:
        await asyncio.to_thread(table.approvals.remember_tools, table.workspace, name, fresh)
    notes = [f"{name} has no tool {', '.join(missing)}"] if missing else []
    if left_out:
        shown = ", ".join(repr(clean_line(each, 40)) for each in left_out[:_MAX_NAMED])
        more = ", …" if len(left_out) > _MAX_NAMED else ""
        notes.append(
            f"{len(left_out)} tools of {name} cannot be used, their names or schemas are not valid or too large:"
            f" {shown}{more}"
        )
    if too_many:
        notes.append(
            f"{name} has more than {MAX_TOOLS} tools, the rest is left out: name the wanted ones with only=[…]"
        )
    return Listing(tuple(tools), tuple(changed), "; ".join(notes), names)


class ListingCodec(Codec[ListingRequest, Listing]):
    """A listing as JSON. `content` is for people."""

    def describe(self, arguments: ListingRequest) -> dict[str, Any]:
        shown = {"server": arguments.server, "only": list(arguments.only), "accept": list(arguments.accept)}
        return {"arguments": {key: value for key, value in shown.items() if value}}

    def editable(self, arguments: ListingRequest) -> dict[str, Any] | None:
        return {"arguments": {"server": arguments.server}}

    def replace(self, arguments: ListingRequest, changes: Mapping[str, Any]) -> ListingRequest:
        """A list of the same server: there is nothing to change about it."""
        wanted = changes.get("arguments", {})
        if wanted and wanted.get("server", arguments.server) != arguments.server:
            raise ValueError("the tools of one server are listed; another server is another tool set of the agent")
        return replace(arguments)

    def dump(self, result: Listing) -> Any:
        return {
            "content": f"{len(result.tools)} tools{result.note and f'; {result.note}'}",
            "tools": [each.to_json() for each in result.tools],
            "changed": [[was.to_json(), now.to_json()] for was, now in result.changed],
            "note": result.note,
            "names": list(result.names),
        }

    def load(self, value: Any) -> Listing:
        return Listing(
            tuple(map(ToolDefinition.from_json, value["tools"])),
            tuple((ToolDefinition.from_json(was), ToolDefinition.from_json(now)) for was, now in value["changed"]),
            value["note"],
            tuple(value["names"]),
        )

    def absorb(self, arguments: ListingRequest, exc: Exception) -> Listing | None:
        """Refused: the agent goes on without these tools. Every other failure is for a person."""
        return Listing(note=str(exc)) if isinstance(exc, ToolCallError) else None

    def by_hand(self, arguments: ListingRequest, value: Any) -> Listing:
        return Listing(note=f"not listed: {value}" if isinstance(value, str) and value else "not listed")


LISTING = ListingCodec()
