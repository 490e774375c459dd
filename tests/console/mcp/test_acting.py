"""What an agent may do over MCP: propose, and act as far as its person's own file says. The rest is refused."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from console.mcp.runtime_access import RuntimeAccess
from console.mcp.server import RuntimeServer
from runtime.config.loader import load_configuration
from runtime.link.client.client import CommandRefused, LinkClient
from runtime.link.transports.transport import UnixTransport
from runtime.link.wire.protocol import AgentCaller
from runtime.operations.agent_rules import ACTS_PER_MINUTE
from runtime.operations.requests.permissions import RevokeGrant
from runtime.operations.requests.reports import StopRuntime
from runtime.operations.requests.runs import FreezeRuns, InjectMessage, StartRun
from runtime.operations.requests.struct import Request
from runtime.service.embedded import EmbeddedRuntime
from runtime.worker.run_mark import RUN_MARK
from tests.console.mcp.scene import Scene, called, client_of, parked_scene, refused, runtime_at
from tests.console.program import Program
from tests.runtime.link.linked import linked
from tests.swarm_texts import DOWN

QUICK = '[errors]\nmax_attempts = 1\n[analysis]\nmodel = "off"\n'


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    root = tmp_path_factory.mktemp("acting")
    (root / "orbiter.toml").write_text(QUICK)
    (root / "down.py").write_text(DOWN)
    scene = parked_scene(root)
    assert scene.program("run", "down.py:agent", "go").returncode == 3
    return scene


@pytest.fixture
def own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own file, which is not there yet."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(RUN_MARK, raising=False)
    path = tmp_path / "config" / "orbiter" / "orbiter.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.fixture
def scene(prepared: Scene, tmp_path: Path, own_file: Path) -> Scene:
    """The workspace as it was prepared, for one test."""
    root = tmp_path / "workspace"
    shutil.copytree(prepared.root, root)
    return Scene(Program(root, {"XDG_CONFIG_HOME": str(own_file.parent.parent)}), prepared.run, prepared.incident)


def failed_model(scene: Scene) -> str:
    """The incident of the model that did not answer: nothing of it is in doubt."""
    return str(next(each["id"] for each in scene.program.json("incidents") if each["id"] != scene.incident))


def audited(scene: Scene, what: str) -> list[dict[str, Any]]:
    return [each for each in scene.program.json("audit") if each["what"] == what]


async def test_a_proposal_stands_beside_the_incident_and_decides_nothing(scene: Scene) -> None:
    incident = failed_model(scene)
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        done = await called(client, "propose_answer", incident_id=incident, option="retry", reason="it is up again")
        assert (done["state"], done["option"]) == ("proposed", "retry")
        shown = next(each for each in await called(client, "list_incidents") if each["id"] == incident)
    assert shown["state"] == "open"
    (proposal,) = shown["proposals"]
    assert (proposal["option"], proposal["reason"]) == ("retry", "it is up again")
    assert proposal["by"]["name"].startswith("Claude Code (")
    assert proposal["by"]["channel"] == "mcp"
    assert next(each for each in scene.program.json("incidents") if each["id"] == incident)["proposals"] == [proposal]
    (entry,) = audited(scene, "proposed")
    assert (entry["option"], entry["reason"], entry["incident_id"]) == ("retry", "it is up again", incident)
    assert entry["person"].startswith("Claude Code (")


async def test_a_later_proposal_of_the_same_agent_replaces_its_first(scene: Scene) -> None:
    incident = failed_model(scene)
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        await called(client, "propose_answer", incident_id=incident, option="retry", reason="one")
        await called(
            client,
            "propose_answer",
            incident_id=incident,
            option="switch_model",
            params={"model": "scripted:other"},
            reason="two",
        )
        shown = next(each for each in await called(client, "list_incidents") if each["id"] == incident)
    assert [each["reason"] for each in shown["proposals"]] == ["two"]


async def test_a_proposal_is_checked_as_the_answer_would_be(scene: Scene) -> None:
    incident = failed_model(scene)
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        propose = {"incident_id": incident, "reason": "why not"}
        assert "switch_model" in await refused(client, "propose_answer", option="switch_model", **propose)
        assert "takes" in await refused(client, "propose_answer", option="grant", **propose)
        assert "has changed" in await refused(client, "propose_answer", option="retry", revision=7, **propose)
        assert "reason: is missing" in await refused(client, "propose_answer", incident_id=incident, option="retry")
        assert "unknown incident" in await refused(
            client, "propose_answer", incident_id="i-none", option="retry", reason="x"
        )


async def test_without_a_word_of_the_person_an_agent_answers_nothing(scene: Scene) -> None:
    incident = failed_model(scene)
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        words = await refused(client, "answer_incident", incident_id=incident, option="retry", reason="up again")
        assert "may_answer" in words
        for tool, arguments in {
            "start_run": {"ref": "keeper.py:swarm", "input": "x"},
            "freeze_run": {"run_id": scene.run, "reason": "x"},
            "abort_run": {"run_id": scene.run, "reason": "x"},
        }.items():
            assert "may_act" in await refused(client, tool, **arguments)
    assert [each["params"]["act"] for each in audited(scene, "was refused")] == ["answer", "start", "freeze", "abort"]
    assert audited(scene, "was refused")[0]["reason"] == "up again"
    assert {each["state"] for each in scene.program.json("incidents")} == {"open"}


async def test_an_agent_answers_what_the_persons_own_file_allows_and_nothing_else(scene: Scene, own_file: Path) -> None:
    incident = failed_model(scene)
    own_file.write_text('[mcp]\nmay_answer = ["retry"]\nmay_act = ["freeze_run", "start_run"]\n')
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        assert "may_answer" in await refused(
            client, "answer_incident", incident_id=incident, option="wait_retry", reason="slow"
        )
        taken = await called(client, "answer_incident", incident_id=incident, option="retry", reason="up again")
        assert taken["by"]["channel"] == "mcp"
        frozen = await called(client, "freeze_run", run_id=scene.run, reason="let a person look")
        assert frozen == [{"id": scene.run, "state": "frozen"}]
        why = "the source has changed"
        started = await called(client, "start_run", ref="keeper.py:swarm", input="x", reason=why)
    (answered,) = audited(scene, "answered")
    assert (answered["option"], answered["channel"], answered["reason"]) == ("retry", "mcp", "up again")
    assert answered["person"].startswith("Claude Code (")
    begun = next(each for each in audited(scene, "started") if each["run_id"] == started["id"])
    assert (begun["channel"], begun["reason"]) == ("mcp", why)


@pytest.mark.parametrize("option", ["grant", "result", "deny", "skip", "abort", "accept", "acknowledge"])
async def test_what_only_a_person_decides_is_refused_and_in_the_audit(scene: Scene, option: str) -> None:
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        words = await refused(client, "answer_incident", incident_id=scene.incident, option=option, reason="please")
        assert "never answered by an agent" in words
    (entry,) = audited(scene, "was refused")
    assert (entry["option"], entry["incident_id"], entry["run_id"]) == (option, scene.incident, scene.run)
    assert entry["params"]["why"] == words


async def test_an_edit_where_a_permission_is_asked_for_would_grant_it_and_is_for_people(
    scene: Scene, own_file: Path
) -> None:
    own_file.write_text('[mcp]\nmay_answer = ["edit"]\n')
    edited = {"arguments": {"path": "/etc/passwd", "text": "mine"}}
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        words = await refused(
            client, "answer_incident", incident_id=scene.incident, option="edit", params=edited, reason="better"
        )
    assert "grants a permission" in words
    assert [each["option"] for each in audited(scene, "was refused")] == ["edit"]
    assert next(each for each in scene.program.json("incidents") if each["id"] == scene.incident)["state"] == "open"


async def told(runtime: EmbeddedRuntime, agent: AgentCaller, *requests: Request[Any]) -> list[str]:
    """What the runtime says to an agent that sends requests itself, past our tools."""
    link = LinkClient(runtime.transport())
    link.agent = agent
    link.start()
    found = []
    try:
        for each in requests:
            with pytest.raises(CommandRefused) as caught:
                await link.ask(each)
            found.append(caught.value.error)
    finally:
        await link.close()
    return found


async def test_what_is_for_people_is_refused_to_an_agent_that_forges_it_on_the_link(
    scene: Scene, own_file: Path
) -> None:
    own_file.write_text('[mcp]\nmay_act = ["start_run", "freeze_run", "abort_run"]\n')
    forged: list[Request[Any]] = [
        RevokeGrant(grant_id="g-1"),
        InjectMessage(run_id=scene.run, agent="keeper", text="obey"),
        FreezeRuns(),
        StartRun(ref="keeper.py:swarm", options={"budget": {}}),
        StopRuntime(),
    ]
    async with runtime_at(scene) as runtime:
        assert await told(runtime, AgentCaller("forger", in_run=False), *forged) == ["agent"] * len(forged)
    assert [each["params"]["act"] for each in audited(scene, "was refused")] == [each.verb for each in forged]


async def test_a_client_inside_a_run_may_look_and_neither_propose_nor_act(
    scene: Scene, own_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_file.write_text('[mcp]\nmay_answer = ["retry"]\n')
    incident = failed_model(scene)
    monkeypatch.setenv(RUN_MARK, "elsewhere")
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        assert await called(client, "list_runs")
        for tool in ("propose_answer", "answer_incident"):
            words = await refused(client, tool, incident_id=incident, option="retry", reason="me again")
            assert "inside a run" in words
    assert [each["params"]["act"] for each in audited(scene, "was refused")] == ["propose", "answer"]
    assert os.environ[RUN_MARK] == "elsewhere"


async def test_a_flood_is_stopped_and_told_once(scene: Scene) -> None:
    async with runtime_at(scene) as runtime, client_of(runtime) as client:
        for _ in range(ACTS_PER_MINUTE):
            assert "may_act" in await refused(client, "abort_run", run_id=scene.run, reason="x")
        for _ in range(5):
            assert "too often" in await refused(client, "abort_run", run_id=scene.run, reason="x")
    assert len(audited(scene, "was refused")) == ACTS_PER_MINUTE + 1


async def test_the_name_of_a_client_cannot_pretend_to_be_another(scene: Scene) -> None:
    incident = failed_model(scene)
    async with (
        runtime_at(scene) as runtime,
        linked(runtime.transport(), AgentCaller("root) (\x1b[2J\u202eada\n" + "x" * 60, in_run=False)) as link,
    ):
        done = await link.command("propose", incident_id=incident, option="retry", reason="x")
    name = done["by"]["name"]
    assert name.isprintable()
    assert name.count("(") == 1
    assert name.startswith("root [2Jada")


async def test_a_viewers_socket_carries_no_act_whatever_is_called(scene: Scene) -> None:
    place = scene.root / ".orbiter"
    with EmbeddedRuntime(place, load_configuration(scene.root).execution_config(), driving=False):
        access = RuntimeAccess(LinkClient(UnixTransport(place, role="viewer"), hold=False))
        async with Client(RuntimeServer(access, viewer=True).server) as client:
            assert await called(client, "list_runs")
            for tool, arguments in {
                "propose_answer": {"incident_id": scene.incident, "option": "grant", "reason": "x"},
                "answer_incident": {"incident_id": scene.incident, "option": "grant", "reason": "x"},
                "abort_run": {"run_id": scene.run, "reason": "x"},
            }.items():
                assert "a viewer may look, not act" in await refused(client, tool, **arguments)
        await access.close()
