"""What an agent sees of a workspace over MCP, through the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.shared.exceptions import MCPDeprecationWarning
from mcp.shared.subscriptions import ResourcesListChanged

from console.mcp.resources import uris_of
from console.mcp.results import MAX_CHARS, json_text
from console.mcp.runtime_access import RuntimeAccess
from console.mcp.server import RuntimeServer
from console.mcp.tool_table import TOOLS
from runtime.config.loader import load_configuration
from runtime.link.client.client import LinkClient
from runtime.link.transports.transport import UnixTransport
from runtime.operations.requests.runs import ListRuns
from runtime.service.embedded import EmbeddedRuntime
from runtime.worker.run_mark import RUN_MARK
from tests.console.mcp.scene import Mode, Scene, called, client_of, parked_scene, refused, runtime_at
from tests.console.program import environment

LOOKING = ["list_runs", "show_run", "list_incidents", "get_report"]


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    found = parked_scene(tmp_path_factory.mktemp("looking"))
    yield found
    found.program("stop")  # the command that serves an agent starts a runtime, which stays


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_tools_give_the_json_of_the_verbs(scene: Scene, mode: Mode) -> None:
    async with runtime_at(scene) as runtime, client_of(runtime, mode=mode) as client:
        assert await called(client, "list_runs") == scene.program.json("runs")
        assert await called(client, "list_incidents") == scene.program.json("incidents")
        assert await called(client, "show_run", run_id=scene.run) == scene.program.json("show", scene.run)[0]
        assert (
            await called(client, "get_report", incident_id=scene.incident)
            == (scene.program.json("report", scene.incident)[0])
        )


async def test_what_is_offered_says_honestly_what_it_does(scene: Scene) -> None:
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        tools = {each.name: each for each in (await client.list_tools()).tools}
    assert [*tools] == [*TOOLS]
    for name, each in tools.items():
        assert each.annotations is not None
        assert each.annotations.read_only_hint is (name in LOOKING), name
        assert each.input_schema["additionalProperties"] is False, name


async def test_a_viewer_is_offered_what_changes_nothing(scene: Scene) -> None:
    async with runtime_at(scene) as runtime, client_of(runtime, viewer=True) as client:
        assert [each.name for each in (await client.list_tools()).tools] == LOOKING


WRONG: list[tuple[str, dict[str, Any], str]] = [
    ("list_runs", {"limit": 0}, "limit: Expected `int` >= 1"),
    ("list_runs", {"limit": 10_001}, "limit: Expected `int` <= 10000"),
    ("list_runs", {"limit": "3"}, "limit: Expected `int`, got `str`"),
    ("list_runs", {"states": ["asleep"]}, "'asleep'; it takes queued, running, waiting, frozen, completed"),
    ("list_runs", {"lim": 3}, "it takes limit, states"),
    ("show_run", {}, "run_id: is missing"),
    ("show_run", {"run_id": 7}, "run_id: Expected `str`, got `int`"),
    ("show_run", {"run_id": "nope"}, "unknown run 'nope'"),
    ("list_incidents", {"run_id": "nope"}, "unknown run 'nope'"),
    ("list_incidents", {"state": "open"}, "it takes run_id"),
    ("get_report", {"incident_id": "nope"}, "the id nope must be that of one incident"),
    ("propose_answer", {"incident_id": "nope", "option": "retry", "reason": "x"}, "unknown incident 'nope'"),
    ("propose_answer", {"incident_id": "", "option": "heal", "reason": "x"}, "incident_id: is missing"),
    ("answer_incident", {"incident_id": "nope", "option": "heal", "reason": "x"}, "the id nope must be that of"),
    ("answer_incident", {"incident_id": "i", "option": "grant", "params": "{}", "reason": "x"}, "params: Expected"),
    ("answer_incident", {"incident_id": "i", "option": "retry", "revision": 1.5, "reason": "x"}, "revision: Expected"),
    ("answer_incident", {"incident_id": "i", "option": "retry", "reach": "run", "reason": "x"}, "'reach' is unknown"),
    ("start_run", {"ref": "a.py:b", "options": {}}, "'options' is unknown here: it takes ref"),
    ("freeze_run", {"reason": "x"}, "run_id: is missing"),
    ("abort_run", {"run_id": "nope", "reason": ""}, "reason: is missing"),
]
"""What is wrong about a call, and what its words begin with or hold."""


async def test_what_is_wrong_about_a_call_is_said_in_words(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(RUN_MARK, raising=False)  # a runtime of another test marks this process
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        for tool, arguments, words in WRONG:
            assert words in await refused(client, tool, **arguments), (tool, arguments)
        option = {"incident_id": scene.incident, "option": "heal", "reason": "x"}
        for tool in ("propose_answer", "answer_incident"):
            assert "grant" in await refused(client, tool, **option), f"{tool} does not say what is offered"
        with pytest.raises(MCPError, match="unknown tool 'drop_all'"):
            await client.call_tool("drop_all", {})
    assert {tool for tool, _, _ in WRONG} == {*TOOLS}


async def test_incidents_and_their_reports_are_resources(scene: Scene) -> None:
    incident, report = uris_of(scene.incident)
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        assert [each.uri for each in (await client.list_resources()).resources] == [incident, report]
        (found,) = (await client.read_resource(incident)).contents
        assert isinstance(found, types.TextResourceContents)
        assert f'"id": "{scene.incident}"' in found.text
        (found,) = (await client.read_resource(report)).contents
        assert isinstance(found, types.TextResourceContents)
        assert "**ERROR REPORT**" in found.text
        for wrong in ("orbiter://incidents/", "orbiter://incidents/nope", "file:///etc/passwd"):
            with pytest.raises(MCPError):
                await client.read_resource(wrong)


async def test_a_client_that_listens_hears_that_incidents_changed(tmp_path: Path) -> None:
    scene = parked_scene(tmp_path)
    async with (
        runtime_at(scene) as runtime,
        client_of(runtime) as client,
        client.listen(resources_list_changed=True) as events,
    ):
        await called(client, "list_incidents")
        await asyncio.to_thread(scene.program, "answer", scene.incident, "abort")
        async for event in events:
            assert event == ResourcesListChanged()
            break
        assert await called(client, "list_incidents") == []


async def test_a_client_of_the_earlier_era_is_told_of_what_it_subscribed_to(tmp_path: Path) -> None:
    scene = parked_scene(tmp_path)
    heard: asyncio.Queue[object] = asyncio.Queue()

    async def hear(message: object) -> None:
        heard.put_nowait(message)

    async with (
        runtime_at(scene) as runtime,
        client_of(runtime, mode="legacy", message_handler=hear) as client,
    ):
        incident, report = uris_of(scene.incident)
        with pytest.warns(MCPDeprecationWarning):
            await client.subscribe_resource(report)
        await asyncio.to_thread(scene.program, "answer", scene.incident, "abort")
        assert isinstance(await heard.get(), types.ResourceListChangedNotification)
        updated = await heard.get()
        assert isinstance(updated, types.ResourceUpdatedNotification)
        assert updated.params.uri == report, incident


async def test_the_program_serves_over_its_standard_streams(scene: Scene) -> None:
    program = str(Path(sys.executable).with_name("orbiter-console"))
    server = StdioServerParameters(command=program, args=["mcp"], cwd=scene.root, env=environment())
    with scene.program.serving():
        async with Client(server) as client:
            (incident,) = await called(client, "list_incidents")
            assert incident["id"] == scene.incident


async def test_lines_that_are_not_messages_are_answered(scene: Scene) -> None:
    program = str(Path(sys.executable).with_name("orbiter-console"))
    server = await asyncio.create_subprocess_exec(
        program, "mcp", cwd=scene.root, env=environment(), stdin=PIPE, stdout=PIPE, limit=2**20
    )
    assert server.stdin is not None
    assert server.stdout is not None

    async def told(line: str) -> Any:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(f"{line}\n".encode())
        return json.loads(await server.stdout.readline())

    def call(number: int, arguments: str) -> str:
        params = f'{{"name": "list_runs", "arguments": {arguments}}}'
        return f'{{"jsonrpc": "2.0", "id": {number}, "method": "tools/call", "params": {params}}}'

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    await told(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}))
    half = await told(call(2, r'{"cut \ud83d": 1}'))
    assert "is unknown here: it takes limit, states" in half["result"]["content"][0]["text"]
    deep = await told(call(3, '{"a":' * 5_000 + "1" + "}" * 5_000))
    assert (deep["id"], deep["error"]["code"]) == (3, types.PARSE_ERROR)
    batch = await told(f"[{call(4, '{}')}, {call(5, '{}')}]")
    assert batch["error"]["message"].startswith("a line must be one message of JSON-RPC 2.0: ")
    assert (await told("{"))["id"] is None
    long = await told(call(6, json.dumps({"x" * 1_000_000: 1})))
    assert len(long["result"]["content"][0]["text"]) < 4_100
    strange = {"jsonrpc": "2.0", "id": 7, "method": "resources/subscribe", "params": {"uri": "file:///etc/passwd"}}
    assert "addresses of incidents or reports" in (await told(json.dumps(strange)))["error"]["message"]
    server.stdin.close()
    assert await server.stdout.read() == b""
    assert await server.wait() == 0


async def test_a_viewer_starts_no_runtime_and_says_what_does(tmp_path: Path) -> None:
    access = RuntimeAccess(LinkClient(UnixTransport(tmp_path, role="viewer"), hold=False))
    async with Client(RuntimeServer(access, viewer=True).server) as client:
        assert "orbiter-console serve" in await refused(client, "list_runs")
    await access.close()


async def test_a_runtime_that_dies_under_a_request_is_started_again_and_asked_again(tmp_path: Path) -> None:
    """The request is under way when the link is cut: it waits for a runtime, and so one must be started."""
    scene = await asyncio.to_thread(parked_scene, tmp_path)  # of its own: it may have no other runtime
    state = scene.root / ".orbiter"
    config = load_configuration(scene.root).execution_config()
    first, second = (EmbeddedRuntime(state, config, driving=False) for _ in range(2))

    async def revive() -> None:
        await asyncio.to_thread(second.start)

    access = RuntimeAccess(LinkClient(UnixTransport(state, reviver=revive)))
    first.start()
    try:
        (run,) = await access.ask(ListRuns())
        first.close()  # and this loop has heard nothing of that yet
        assert [each.id for each in await access.ask(ListRuns())] == [run.id]
    finally:
        await access.close()
        first.close()
        second.close()


def test_a_result_that_is_too_long_is_cut_and_says_so() -> None:
    text = json_text({"a": "x" * (2 * MAX_CHARS), "b": [{"c": "y" * 500}] * 5_000})
    assert len(text) <= MAX_CHARS
    assert "characters more" in text
    assert "more)" in text
    assert json_text({"a": "\x1b[2J\u00e9\u200b"}) == '{"a": "\\u001b[2J\\u00e9\\u200b"}'
