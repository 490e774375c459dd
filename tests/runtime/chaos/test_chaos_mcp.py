"""Tools of MCP servers, killed with SIGKILL after the n-th append: a sample in the suite, every n in `make soak`."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from orbiter.mcp.approvals import ApprovalFile
from orbiter.mcp.definition import parse_server
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from tests.mcp_server import SERVER, PeerServer
from tests.runtime.chaos.conftest import Tried
from tests.runtime.chaos.harness import ME, Place, check, check_effects

AT_ONCE = 4
SOAK = bool(os.environ.get("SOAK"))
REF = "mcp_users:noter"
EXPECTED = Counter(["note a", "note b", "note c for the team"])
OUTPUT = "noted c for the team"


def granted(tool: str) -> ev.GrantAdded:
    return ev.GrantAdded(grant_id="g-1", subject="*", verb="mcp.call", pattern=f"ref/{tool}", lifetime="always")


def peer_of(peer: PeerServer, found: Place) -> dict[str, Any]:
    """The server that all places share; what it does for one of them stands among the effects there."""
    return {"type": "http", "url": peer.url(), "headers": {"X-Effects": str(found.root / "effects")}}


def own_server() -> dict[str, Any]:
    """A server over standard streams: each life of the runtime starts one, which ends with it."""
    return {"command": sys.executable, "args": [str(SERVER)], "env": {"MCP_TEST_EFFECTS": "${ORBITER_TEST_EFFECTS}"}}


def write_server(found: Place, server: dict[str, Any]) -> None:
    """The only MCP server of a workspace, which a person has approved."""
    (found.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"ref": server}}))
    ApprovalFile(found.root / "approvals").approve(str(found.root), parse_server("ref", server, ".mcp.json"))


LAST = 30
"""More appends than one life makes."""


@pytest.mark.parametrize("transport", ["http", "stdio"])
@pytest.mark.timeout(240)
async def test_an_agent_with_tools_of_a_server_is_killed_after_an_append(
    place: Callable[[str], Place], tried: Tried, mcp_peer: PeerServer, transport: str
) -> None:
    """Two calls side by side under a grant, then one that asks for a permission and a name. Over HTTP the server goes
    on while its client dies; over standard streams it ends with it, and the next cannot open the state of its question.
    """

    async def started(found: Place) -> str:
        write_server(found, peer_of(mcp_peer, found) if transport == "http" else own_server())
        await found.journal.post(ev.WORKSPACE_RUN_ID, granted("note"))
        return await found.start(REF)

    async def one(undisturbed: int, n: int) -> tuple[int, int, int]:
        """How often it died, how often a call was in doubt, and how many notes were never made though asked about."""
        async with place(f"{undisturbed}-{n}") as found:
            run = await started(found)
            for _ in range(undisturbed):
                await found.lives.live(found.root)
                await found.answer_all()
            died, doubts = await found.to_the_end([run], die_after=n)
            state = check(await found.journal.read(run))
            doubted = sum(1 for each in state.incidents.values() if each.opened.in_doubt)
            if not doubted:
                assert state.output == OUTPUT
                assert len(state.incidents) == 2, "the permission and the question"
            effects = found.effects
            del effects["started"]
            check_effects(effects, EXPECTED, doubts + doubted)
        return died, doubts, (EXPECTED - effects).total()

    # The first life ends where the permission is awaited, the second where the name is.
    points = [(life, n) for life in range(3) for n in range(1, LAST)]
    if not SOAK:
        chosen = random.Random(f"{REF} {transport}")
        points = [(0, chosen.randint(3, 10)) if transport == "http" else (chosen.randint(1, 2), chosen.randint(2, 4))]
    deaths = doubted = missing = 0
    for at in range(0, len(points), AT_ONCE):
        for died, doubts, left in await asyncio.gather(*(one(*each) for each in points[at : at + AT_ONCE])):
            deaths, doubted, missing = deaths + died, doubted + doubts, missing + left
    tried(f"SIGKILL after an append of {REF} over {transport}", deaths)
    tried(f"in doubt after it, over {transport}", doubted)
    tried(f"in doubt and never carried out, over {transport}", missing)
    assert deaths >= len(points) // 4


async def test_a_question_that_comes_back_different_is_asked_again_and_an_equal_one_is_not(
    place: Callable[[str], Place],
) -> None:
    """Each life of the runtime starts a server of its own, which cannot open the state of the one before. It asks
    again, with another schema, message or key; at last it asks what was answered already.
    """
    environ = {"MCP_TEST_EFFECTS": "${ORBITER_TEST_EFFECTS}", "MCP_TEST_ASKS": "${ASKS:-}"}
    differences = ("schema", "message", "key") if SOAK else ("schema",)
    async with place("w") as found:
        write_server(found, {"command": sys.executable, "args": [str(SERVER)], "env": environ})
        await found.journal.post(ev.WORKSPACE_RUN_ID, granted("greet"))
        run = await found.start("mcp_users:greeter")
        asked: dict[str, ev.IncidentOpened] = {}
        for asks in ("", *differences):
            assert await found.lives.live(found.root, env={"ASKS": asks}) == 0, found.log
            (incident,) = await found.journal.incidents()
            given = {"value": {"name": f"Ann {asks}"}}
            await found.decisions.answer(incident.opened.incident_id, "input", given, by=ME)
            asked[asks] = incident.opened
        assert await found.lives.live(found.root, env={"ASKS": "schema"}) == 0, found.log
        state = check(await found.journal.read(run))
    assert [list((each.answer_schema or {})["properties"]) == ["name", "town"] for each in asked.values()] == [
        asks == "schema" for asks in asked
    ]
    assert ["the new king" in each.question for each in asked.values()] == [asks == "message" for asks in asked]
    assert state.output.startswith("hello king Ann schema")
    assert len(state.incidents) == len(asked), "an equal question was asked again"
    lives = len(asked) + 1
    assert found.effects == Counter({"started": lives, "asks for king": lives, "greet king Ann schema state king": 1})


async def test_a_proposal_and_what_adopts_it_are_recorded_once_though_each_dies_at_its_append(
    place: Callable[[str], Place], tried: Tried, mcp_peer: PeerServer
) -> None:
    """Who dies at the append does not learn that it was heard, and says it again."""
    async with place("w") as found:
        write_server(found, peer_of(mcp_peer, found))
        run = await found.start(REF)
        assert await found.lives.live(found.root) == 0, found.log
        asked = (await found.journal.incidents())[0].opened
        said = {"incident": asked.incident_id, "option": "grant", "params": {"for": "once"}}

        async def say(do: str, **more: Any) -> tuple[int, DurableRun]:
            status = await found.lives.begin(do, found.root, **said, **more).status()
            return status, fold_events(await found.journal.read(run))

        for die_after, ended in ((1, -signal.SIGKILL), (None, 0)):
            status, state = await say("propose", die_after=die_after)
            assert status == ended, found.log
            (proposal,) = state.incidents[asked.incident_id].proposals
            assert (proposal.option, proposal.by.channel) == ("grant", "mcp")
            assert await found.lives.live(found.root) == 0, found.log
            assert found.effects == Counter(), "a proposal was taken for an answer"
            assert asked.incident_id in [each.opened.incident_id for each in await found.journal.incidents()]
        for die_after, ended in ((1, -signal.SIGKILL), (None, 0)):
            status, state = await say("answer", die_after=die_after)
            assert status == ended, found.log
            assert state.incidents[asked.incident_id].answer is not None
        assert [each["accepted"] for each in found.said if "accepted" in each] == [False], "what died was heard"
        status, state = await say("propose")
        assert (status, state.incidents[asked.incident_id].proposal) == (1, None)
        assert "is answered" in found.log
        await found.to_the_end([run])
        assert check(await found.journal.read(run)).output == OUTPUT
        assert found.effects == EXPECTED
    tried("SIGKILL at the append of a proposal and of its adoption", 2)
