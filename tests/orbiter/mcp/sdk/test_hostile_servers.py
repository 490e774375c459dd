"""Servers that break the protocol, or mean harm: nothing hangs or fails for others, and what is said of it is plain."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from orbiter.mcp.call import ServerCall, ServerResult, call_tool_with_progress
from orbiter.mcp.failures import ServerLost, ServerUnreachable, UnusableToolList
from orbiter.mcp.listing import MAX_TOOLS, ListingRequest, list_tools
from orbiter.mcp.table import ServerTable
from orbiter.mcp.tool_names import distinct_names
from orbiter.types import content_text
from tests.orbiter.mcp.sdk.test_limits import table

HOSTILE = Path(__file__).parents[3] / "data" / "mcp" / "hostile.py"
SAID = {
    "garbage": "fine",
    "progress": "fine",
    "other_id": "fine",
    "half_a_character": "cut \ufffd, whole \U0001f600",
    "bad_image": "[image  image/png: left out, it is not valid]",
    "nested": "the answer of ref cannot be read: not valid (the message: Invalid JSON: recursion limit exceeded",
    "null": "the answer of ref cannot be read: not valid (",
    "odd_error": "the answer of ref cannot be read: not valid (",
    "invalid": "the result of ref is not valid (content.0.TextContent.text: Field required;",
    "slow_pattern": "the result of ref is not valid: 'a': should match",
    "own_error": "ref refused the call: [2Jbusy",
}


def hostile(root: Path, broken: str = "") -> ServerTable:
    return table(root, {"command": sys.executable, "args": [str(HOSTILE), broken]})


def said_by(found: ServerResult) -> str:
    return found.error if found.error is not None else content_text(found.content)


async def test_what_a_hostile_server_answers_ends_each_call_and_says_why(tmp_path: Path) -> None:
    servers = hostile(tmp_path)
    listed = await list_tools(ListingRequest(servers, "ref"))
    tools = {each.name: each for each in listed.tools}
    assert len(tools) == MAX_TOOLS
    assert "2 tools of ref cannot be used, their names or schemas are not valid or too large" in listed.note
    assert f"ref has more than {MAX_TOOLS} tools" in listed.note
    assert listed.note.isprintable()
    progress: list[str] = []

    async def call(name: str) -> ServerResult:
        request = ServerCall(servers, "ref", tools[name], f"ref_{name}", "c", {"path": "x"})
        return await call_tool_with_progress(request, lambda _, text: progress.append(text))

    for name, words in SAID.items():
        assert said_by(await call(name)).startswith(words), name
    assert said_by(await call("many_parts")).startswith("fine")
    with pytest.raises(ServerLost, match="the connection to the MCP server 'ref' ended"):
        await call("gone")
    assert said_by(await call("garbage")) == "fine", "it is started again"


async def test_tools_whose_names_are_equal_for_a_model_are_told_apart_by_their_own(tmp_path: Path) -> None:
    listed = await list_tools(ListingRequest(hostile(tmp_path), "ref", only=("read.file", "read_file")))
    names = distinct_names("ref", [each.name for each in listed.tools])
    assert names == {"read_file": "ref_read_file", "read.file": "ref__read_file"}


@pytest.mark.parametrize(
    ("broken", "words", "kind"),
    [
        ("schema", r"not valid \(tools.0.inputSchema: Input should be a valid dictionary", UnusableToolList),
        ("nested", r"not valid \(the message: Invalid JSON: recursion limit exceeded", UnusableToolList),
        ("error", r"\[2Jno$", ServerUnreachable),
    ],
)
async def test_a_list_of_tools_that_cannot_be_used_is_a_fault_of_the_server(
    tmp_path: Path, broken: str, words: str, kind: type[Exception]
) -> None:
    with pytest.raises(kind, match=f"'ref' does not list its tools: {words}"):
        await list_tools(ListingRequest(hostile(tmp_path, broken), "ref"))
