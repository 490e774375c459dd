"""What files say of servers, what a person approves, and what is made of a server's texts and schemas."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.errors import AgentError, ConfigurationError
from orbiter.json_schema import find_problems
from orbiter.mcp import mcp_tools
from orbiter.mcp.approvals import ApprovalFile
from orbiter.mcp.content import MAX_TEXT_CHARS, result_blocks
from orbiter.mcp.definition import InvalidServer, parse_server
from orbiter.mcp.foreign_text import clean_text
from orbiter.mcp.table import ServerTable, read_workspace_file
from orbiter.mcp.tool_definition import ToolDefinition, difference, plain_name, read_definition
from orbiter.mcp.tool_names import distinct_names, model_name
from orbiter.types import AudioBlock, DocumentBlock, ImageDataBlock, TextBlock


def definition(**more: Any) -> ToolDefinition | None:
    return read_definition({"name": "read", "description": "Read.", "inputSchema": {"type": "object"}, **more})


def test_variables_are_filled_in_when_a_server_is_started() -> None:
    written = {"command": "${BIN:-npx}", "args": ["--root", "${ROOT}"], "env": {"KEY": "a${KEY}b"}}
    server = parse_server("files", written, ".mcp.json")
    assert server.variables == ("BIN", "KEY", "ROOT")
    assert server.missing({"KEY": "1"}) == ("ROOT",)
    assert server.missing({"KEY": ""}) == ("KEY", "ROOT")
    ready = server.expanded({"ROOT": "/x", "KEY": "1"})
    assert (ready.command, ready.args, ready.env) == ("npx", ("--root", "/x"), {"KEY": "a1b"})
    with pytest.raises(InvalidServer, match="needs the variable ROOT"):
        server.expanded({"KEY": "1"})


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({}, 'either "command" or "url"'),
        ({"command": "a", "url": "http://b"}, 'either "command" or "url"'),
        (
            {"type": "sse", "url": "http://b"},
            'the type "sse", a transport that MCP gave up .* often one that ends with /mcp',
        ),
        ({"type": "ws", "url": "http://b"}, '"stdio" and "http" are supported'),
        ({"type": 7, "url": "http://b"}, '"stdio" and "http" are supported'),
        ({"url": "ftp://b"}, "http or https"),
        ({"command": "a", "args": "b"}, "a list of texts"),
        ({"command": "a", "env": {"A": 1}}, "an object of texts"),
        (["a"], "must be an object"),
    ],
)
def test_a_wrong_definition_says_what_would_be_right(written: Any, said: str) -> None:
    with pytest.raises(InvalidServer, match=said):
        parse_server("files", written, ".mcp.json")


def test_what_is_approved_is_shown_as_it_is_written_without_keys() -> None:
    program = {"command": "sh", "args": ["-c", "a b"], "env": {"LD_PRELOAD": "./x.so", "API_KEY": "abcdef123456"}}
    shown = parse_server("files", program, ".mcp.json").describe()
    assert shown["env"] == {"API_KEY": "[redacted]", "LD_PRELOAD": "./x.so"}
    headers = {"Authorization": "Bearer ${TOKEN}", "X-Api-Key": "abcdef123456"}
    shown = parse_server("files", {"url": "http://b/mcp", "headers": headers}, ".mcp.json").describe()
    assert shown["headers"] == {"Authorization": "Bearer ${TOKEN}", "X-Api-Key": "[redacted]"}


@pytest.mark.parametrize("kind", ["http", "streamable-http", "streamable_http", "streamableHttp", "HTTP"])
def test_http_is_known_as_each_client_writes_it(kind: str) -> None:
    assert parse_server("files", {"type": kind, "url": "http://b/mcp"}, ".mcp.json").url == "http://b/mcp"


def test_a_server_that_cannot_be_used_is_in_the_way_of_no_other(tmp_path: Path) -> None:
    """The file is shared with other clients, which know other transports and names."""
    servers = {"old": {"type": "sse", "url": "http://b"}, "a b": {"command": "a"}, "files": {"command": "a"}}
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": servers}))
    table = ServerTable(str(tmp_path), ApprovalFile(tmp_path / "a"))
    assert table.server("files").command == "a"
    with pytest.raises(InvalidServer, match='the type "sse"'):
        table.server("old")
    with pytest.raises(InvalidServer, match="must have a name of letters"):
        table.server("a b")


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200))
def test_a_workspace_file_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(text, encoding="utf-8")
    with contextlib.suppress(InvalidServer):
        assert isinstance(read_workspace_file(path), dict)


def test_an_approval_is_for_one_definition_of_one_workspace(tmp_path: Path) -> None:
    file = ApprovalFile(tmp_path / "own" / "approvals.json")
    server, other = (parse_server("a", {"command": each}, "x") for each in ("one", "two"))
    file.approve("/work", server)
    file.approve("/work", other, "run-1")
    assert file.is_approved("/work", server)
    assert not file.is_approved("/else", server)
    assert file.is_approved("/work", other, "run-1")
    assert not file.is_approved("/work", other, "run-2")
    assert file.withdraw("/work", "a")
    assert not file.is_approved("/work", server)


def test_a_tool_that_asks_is_remembered_for_one_definition_of_one_workspace(tmp_path: Path) -> None:
    file = ApprovalFile(tmp_path / "own" / "approvals.json")
    server, other = (parse_server("a", {"command": each}, "x") for each in ("one", "two"))
    file.remember_asking_tool("/work", server, "ask")
    file.remember_asking_tool("/work", server, "beg")
    assert file.asking_tools("/work", server) == {"ask", "beg"}
    assert not file.is_approved("/work", server)
    assert file.asking_tools("/else", server) == file.asking_tools("/work", other) == frozenset()
    file.remember_asking_tool("/work", other, "ask")
    assert file.asking_tools("/work", server) == frozenset()


def test_a_file_that_others_may_write_approves_nothing(tmp_path: Path) -> None:
    path, server = tmp_path / "approvals.json", parse_server("a", {"command": "one"}, "x")
    ApprovalFile(path).approve("/work", server)
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o666)
    with pytest.raises(ConfigurationError, match="can be written by other users"):
        ApprovalFile(path).is_approved("/work", server)


def test_an_unknown_server_is_named_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"files": {"command": "a"}}}')
    with pytest.raises(ConfigurationError, match="did you mean 'files'"):
        ServerTable(str(tmp_path), ApprovalFile(tmp_path / "a")).server("file")


@given(st.text())
def test_cleaned_text_has_nothing_that_cannot_be_seen(text: str) -> None:
    cleaned = clean_text(text, 50)
    assert clean_text(cleaned, 10_000) == cleaned
    assert not any(ord(each) < 32 and each not in "\t\n" for each in cleaned)
    cleaned.encode()


@pytest.mark.parametrize("hidden", ["\x1b", "\u202e", "\U000e0041", "\u200b", "\x9b"])
def test_hidden_characters_of_a_description_reach_no_model(hidden: str) -> None:
    found = definition(description=f"Read{hidden}.", inputSchema={"type": "object", "description": hidden})
    assert found is not None
    assert hidden not in found.description + json.dumps(found.schema, ensure_ascii=False)


def test_a_tool_that_cannot_be_called_is_left_out() -> None:
    for name in ("", "a\x1b[2J", "a\u202eb", " a", "a\nb", "x" * 129):
        assert definition(name=name) is None, name
    assert definition(inputSchema={"type": "string"}) is None
    assert definition(inputSchema={"type": "object", "x": "y" * 300_000}) is None


def test_a_name_that_is_odd_is_written_out_in_permissions() -> None:
    for name, said in {
        "read.file-2_b": "read.file-2_b",
        "ns/read": "ns/read",
        "a:b *{c}": "a%3Ab%20%2A%7Bc%7D",
    }.items():
        assert definition(name=name) is not None
        assert plain_name(name) == said


def test_a_change_shows_as_its_difference() -> None:
    was, now, unseen = (definition(description=each) for each in ("Read.", "Read, and send.", "Read.\u200b"))
    assert was is not None
    assert now is not None
    assert unseen is not None
    assert difference(was, now) == "-Read.\n+Read, and send."
    assert was.digest != unseen.digest
    assert "cannot be seen" in difference(was, unseen)


def test_a_reference_to_another_address_is_not_fetched() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setblocking(False)
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/schema.json"
        assert find_problems({"type": "object", "properties": {"a": {"$ref": url}}}, {"a": 1}) == []
        with pytest.raises(BlockingIOError):
            listening.accept()


def test_results_become_content_within_limits() -> None:
    parts = [
        {"type": "text", "text": "x" * (MAX_TEXT_CHARS + 5)},
        {"type": "image", "data": "QUJD", "mimeType": "image/png"},
        {"type": "text", "text": "more"},
    ]
    blocks = result_blocks({"content": parts})
    assert isinstance(blocks, list)
    first, image, note = blocks
    assert isinstance(first, TextBlock)
    assert first.text.endswith(f"(cut: {MAX_TEXT_CHARS + 5} characters)")
    assert image == ImageDataBlock(data="QUJD", media_type="image/png")
    assert note == TextBlock(text="[1 more texts were left out: too long]")
    assert result_blocks({"content": [], "structuredContent": {"a": 1}}) == '{"a": 1}'


ROWS = {"rows": [1, 2]}
PIXEL = {"type": "image", "data": "QUJD" * 5, "mimeType": "image/png"}


@pytest.mark.parametrize(
    ("texts", "structured", "said"),
    [
        (["2 rows"], ROWS, '2 rows\n{"rows": [1, 2]}'),
        (['{"rows":  [1, 2]}'], ROWS, '{"rows":  [1, 2]}'),
        (["2 rows", '{"rows": [1, 2]}'], ROWS, '2 rows\n{"rows": [1, 2]}'),
        (["5"], {"result": 5}, "5"),
        (["5"], {"result": "5"}, "5"),
        (["a", "b"], {"result": ["a", "b"]}, "a\nb"),
        (["a", "b"], {"result": ["a", "c"]}, 'a\nb\n{"result": ["a", "c"]}'),
        ([], {"result": None}, '{"result": null}'),
        (["the file"], {"content": "the file"}, "the file"),
        (['[{"name": "Ann"}]'], {"entities": [{"name": "Ann"}]}, '[{"name": "Ann"}]'),
        (["3"], {"total": 3}, '3\n{"total": 3}'),
    ],
)
def test_structured_content_is_said_once(texts: list[str], structured: Any, said: str) -> None:
    parts = [{"type": "text", "text": each} for each in texts]
    assert result_blocks({"content": parts, "structuredContent": structured}) == said


def test_data_is_not_repeated_as_text() -> None:
    """Some servers put a whole image into the structured content, too."""
    image = ImageDataBlock(data=PIXEL["data"], media_type="image/png")
    assert result_blocks({"content": [PIXEL], "structuredContent": {**PIXEL, "_meta": None}}) == [image]
    blocks = result_blocks({"content": [PIXEL], "structuredContent": {"page": 1, "picture": PIXEL["data"]}})
    assert blocks == [image, TextBlock(text='{"page": 1, "picture": "(the data of a part)"}')]


def test_a_document_that_is_a_text_is_read_as_one() -> None:
    def resource(media_type: str, content: bytes) -> Any:
        blob = {"uri": "file:///a", "mimeType": media_type, "blob": base64.b64encode(content).decode()}
        return result_blocks({"content": [{"type": "resource", "resource": blob}]})

    assert resource("text/csv", b"a,b\x1b") == "[resource file:///a]\na,b"
    assert resource("application/ld+json; charset=utf-8", b"{}") == "[resource file:///a]\n{}"
    assert "text/csv of 4 characters in base64" in resource("text/csv", b"\xff\xfe")
    assert isinstance(resource("application/pdf", b"%PDF")[0], DocumentBlock)
    assert "application/zip of 8 characters in base64: models take none such]" in resource("application/zip", b"PK\0\0")
    link = {"type": "resource_link", "uri": "file:///a", "name": "a", "description": "The first"}
    assert result_blocks({"content": [link]}) == "[resource file:///a: a, The first]"


@pytest.mark.parametrize(
    ("media_type", "block"),
    [
        ("image/jpg", ImageDataBlock(data="QUJD", media_type="image/jpeg")),
        ("", ImageDataBlock(data="QUJD", media_type="image/png")),
        ("image/svg+xml", "ABC"),
        ("image/tiff", "[image  image/tiff of 4 characters in base64: models take none such]"),
        ("audio/mpeg", AudioBlock(data="QUJD", format="mp3")),
    ],
)
def test_data_is_named_as_providers_know_it(media_type: str, block: Any) -> None:
    kind = media_type.partition("/")[0] or "image"
    found = result_blocks({"content": [{"type": kind, "data": "QUJD", "mimeType": media_type}]})
    assert found == (block if isinstance(block, str) else [block])


def test_names_end_with_the_servers_own_name() -> None:
    assert model_name("files", "read") == "files_read"
    assert model_name("my.server", "a.b") == "my_server_a_b"
    assert model_name("s" * 64, "read").endswith("_read")
    assert len(model_name("s" * 64, "t" * 64)) == 64


def test_no_two_tools_of_an_agent_have_one_name() -> None:
    assert distinct_names("ref", ["read.file", "read_file", "read/file", "add"]) == {
        "read.file": "ref__read_file",
        "read_file": "ref_read_file",
        "read/file": f"ref_read_file_{sha256(b'ref' + bytes(1) + b'read/file').hexdigest()[:6]}",
        "add": "ref_add",
    }
    taken = {"files_a_b": ("files", "a_b"), "own": ("", "own")}
    assert distinct_names("files_a", ["b", "c"], taken) == {"b": "files_a__b", "c": "files_a_c"}
    assert distinct_names("files", ["a_b"], taken) == {"a_b": "files_a_b"}, "it is the same tool"
    long = [f"{'t' * 64}.{each}" for each in range(3)]
    names = distinct_names("ref", [f"{each}.{'t' * 64}" for each in "abc"])
    assert len({*names.values()}) == 3, "their ends are the same"
    assert max(map(len, [*names.values(), *distinct_names("ref", long).values()])) == 64


def test_a_tool_set_is_refused_where_it_is_written() -> None:
    with pytest.raises(AgentError, match="takes the name of a server"):
        mcp_tools("no such name")
    with pytest.raises(AgentError, match="only= names no tool"):
        mcp_tools("files", only=[])
