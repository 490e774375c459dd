"""One JSON for each object: what `--json` prints is what the link answers."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pytest

from console.cli import VERBS
from runtime.config.loader import load_configuration
from runtime.operations.handler_table import HANDLERS
from runtime.operations.requests.answers import (
    AnswerEqual,
    AnswerIncident,
    CompareWrite,
    FindPrecedent,
    ListIncidents,
    PreviewGrant,
    ProposeAnswer,
    ShowIncident,
    ShowReport,
)
from runtime.operations.requests.codec import encode
from runtime.operations.requests.limits import ListBreakers, ListBudgets, ResetBreaker
from runtime.operations.requests.permissions import ListGrants, ListGrantUses, ListPermissions, RevokeGrant
from runtime.operations.requests.reports import (
    ExportRun,
    ListAudit,
    NoteLook,
    ReadDigest,
    ReadEvents,
    ReadLog,
    ReadLogFile,
    ReadMetrics,
    ShowStatus,
    StopRuntime,
)
from runtime.operations.requests.runs import (
    AbortRun,
    CancelCall,
    CheckSwarm,
    CompareRuns,
    ForkRun,
    FreezeRuns,
    InjectMessage,
    ListRuns,
    ListSwarms,
    RewindRun,
    SearchRuns,
    SetBreakpoint,
    ShowRun,
    ShowWaits,
    StartRun,
    ThawRuns,
)
from runtime.operations.requests.struct import Request
from runtime.operations.requests.workers import ListWorkers, MoveRun
from runtime.record.state import events as ev
from runtime.service.embedded import EmbeddedRuntime
from tests.console.program import SWARM, Program
from tests.runtime.link.link_bench import Bench
from tests.runtime.link.linked import linked
from tests.swarm_texts import BREAKER_CONFIG, DOWN

PERMISSIONS = """
[permissions]
deny = ["net.fetch"]
"""


class Parked(NamedTuple):
    """A run that waits, and its incident."""

    run: str
    incident: str
    node: str


class Scene:
    """A workspace with runs that wait, and the link of a runtime that shows them and drives nothing."""

    def __init__(self, program: Program) -> None:
        self.program = program
        for number in range(4):
            assert program("run", "keeper.py:swarm", f"tea {number}").returncode == 3
        assert program("run", "down.py:agent", "go").returncode == 3
        shown = {str(each["id"]): each for each in program.json("runs")}
        self.runs = []
        for incident in reversed(program.json("incidents")):
            if "keeper.py:" in shown[incident["run_id"]]["ref"]:
                nodes = program.json("show", incident["run_id"])[0]["nodes"]
                agent = next(node["id"] for node in nodes if node["kind"] == "agent")
                self.runs.append(Parked(incident["run_id"], incident["id"], agent))
        assert len(self.runs) == 4

    def park(self, text: str) -> Parked:
        """One more run that waits for the permission to store a text, for the one test that has this text."""
        assert self.program("run", "keeper.py:swarm", text).returncode == 3
        (new,) = (each for each in self.program.json("incidents") if each["task"] == text)
        return Parked(new["run_id"], new["id"], "")

    def grant_of(self, on: Parked) -> str:
        """The grant that was given at its incident."""
        return next(str(each["id"]) for each in self.program.json("grants") if each["incident_id"] == on.incident)

    async def cut_off(self, run_id: str) -> Parked:
        """A run whose process died while a tool's call was under way."""
        bench = Bench(self.program.directory / ".orbiter")
        driver = await bench.started(run_id)
        step: dict[str, Any] = {"parent_id": "a", "agent": "a", "attempt": 1, "epoch": driver.lease.epoch}
        await driver.nodes("a")
        await driver.write(
            ev.StepStarted(node_id="a/llm~0", kind="llm", name="m", **step),
            ev.StepStarted(node_id="a/slow~0", kind="tool", name="slow", **step),
        )
        await driver.journal.close()
        return Parked(run_id, "", "a/slow~0")

    def told(self, *requests: Request[Any]) -> list[Any]:
        """What the link answers, as JSON."""

        async def ask() -> list[Any]:
            config = load_configuration(self.program.directory).execution_config()
            with EmbeddedRuntime(
                self.program.directory / ".orbiter", config, listening=False, driving=False
            ) as runtime:
                async with linked(runtime.transport()) as client:
                    return [await client.command(each.verb, **encode(each)) for each in requests]

        return asyncio.run(ask())


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    root = tmp_path_factory.mktemp("one")
    (root / "keeper.py").write_text(SWARM)
    (root / "down.py").write_text(DOWN)
    (root / "orbiter.toml").write_text(BREAKER_CONFIG + PERMISSIONS)
    return Scene(Program(root))


Case = Callable[[Scene], tuple[Sequence[str], Request[Any]]]
LOOKS: dict[type[Request[Any]], Case] = {
    ListRuns: lambda s: (("runs", "--limit", "3"), ListRuns(limit=3)),
    SearchRuns: lambda s: (("runs", "--search", "TEA 2"), SearchRuns(text="TEA 2")),
    ShowRun: lambda s: (("show", s.runs[0].run), ShowRun(run_id=s.runs[0].run)),
    CompareRuns: lambda s: (
        ("diff", s.runs[0].run, s.runs[1].run),
        CompareRuns(left=s.runs[0].run, right=s.runs[1].run),
    ),
    ShowWaits: lambda s: (("waits", s.runs[0].run), ShowWaits(run_id=s.runs[0].run)),
    ListIncidents: lambda s: (("incidents",), ListIncidents()),
    ShowReport: lambda s: (("report", s.runs[0].incident), ShowReport(incident_id=s.runs[0].incident)),
    PreviewGrant: lambda s: (
        ("answer", s.runs[0].incident, "grant", "--for", "always", "--dry-run"),
        PreviewGrant(incident_id=s.runs[0].incident, params={"for": "always"}),
    ),
    ListGrants: lambda s: (("grants", "--all"), ListGrants(every=True)),
    ListAudit: lambda s: (("audit",), ListAudit()),
    ReadDigest: lambda s: (("digest", "--keep"), ReadDigest()),
    ListBreakers: lambda s: (("breakers", "--all"), ListBreakers(every=True)),
    ListBudgets: lambda s: (("budgets",), ListBudgets()),
    ReadMetrics: lambda s: (("metrics",), ReadMetrics()),
    ListWorkers: lambda s: (("workers",), ListWorkers()),
}
"""Requests that look, each with the verb that prints the same object."""
VOLATILE = {
    ListBreakers: "seconds that go by", ListBudgets: "seconds that go by", ReadDigest: "until now", ShowWaits: "until",
    ReadMetrics: "the age of the oldest incident",
}  # fmt: skip
"""Requests whose results hold something that goes on; of these the names and types of all members are compared."""
Act = Callable[[Scene, Parked], tuple[Sequence[str], Request[Any]]]
ACTS: dict[type[Request[Any]], Act] = {
    SetBreakpoint: lambda s, on: (
        ("break", on.run, "tool:store"),
        SetBreakpoint(run_id=on.run, what="tool", pattern="store"),
    ),
    InjectMessage: lambda s, on: (
        ("inject", on.run, "keeper", "hi"),
        InjectMessage(run_id=on.run, agent="keeper", text="hi"),
    ),
    FreezeRuns: lambda s, on: (("freeze", on.run), FreezeRuns(run_id=on.run)),
    ThawRuns: lambda s, on: (("thaw", on.run), ThawRuns(run_id=on.run)),
    AnswerIncident: lambda s, on: (
        ("answer", on.incident, "grant", "--for", "run"),
        AnswerIncident(incident_id=on.incident, option="grant", params={"for": "run"}),
    ),
    RevokeGrant: lambda s, on: (("revoke", s.grant_of(on)), RevokeGrant(grant_id=s.grant_of(on))),
    MoveRun: lambda s, on: (("move", on.run, "--code", "v2"), MoveRun(run_id=on.run, code="v2")),
    ForkRun: lambda s, on: (("fork", on.run), ForkRun(run_id=on.run)),
    RewindRun: lambda s, on: (
        ("rewind", on.run, on.node, "--yes"),
        RewindRun(run_id=on.run, node_id=on.node, confirm=True),
    ),
    AbortRun: lambda s, on: (("abort", on.run), AbortRun(run_id=on.run)),
}
"""Requests that act, in an order in which each can be done to the same run."""
IN_FLIGHT: dict[type[Request[Any]], Act] = {
    CancelCall: lambda s, on: (("cancel", on.run, on.node), CancelCall(run_id=on.run, node_id=on.node)),
}
"""Requests that act on a call that is under way."""
COMPARED_BELOW: dict[type[Request[Any]], str] = {
    AnswerEqual: "test_answers_to_all_that_are_the_same_are_told_alike",
    CheckSwarm: "test_a_run_is_started_alike_on_both_ways",
    ExportRun: "test_an_incident_and_an_export_are_the_same_on_both_ways",
    FindPrecedent: "test_a_grant_and_its_answer_are_the_same_wherever_they_are_told",
    ListGrantUses: "test_a_grant_and_its_answer_are_the_same_wherever_they_are_told",
    ListPermissions: "test_a_grant_and_its_answer_are_the_same_wherever_they_are_told",
    ListSwarms: "test_a_run_is_started_alike_on_both_ways",
    NoteLook: "test_a_look_is_noted_alike_on_both_ways",
    ProposeAnswer: "test_a_proposal_is_listed_as_it_was_taken",
    ReadEvents: "test_an_event_is_printed_as_the_link_tells_it_with_its_id_and_its_level",
    ReadLog: "test_whole_rows_of_the_log_are_events_and_others_are_cut",
    ReadLogFile: "test_the_log_file_is_told_alike_without_secrets",
    ResetBreaker: "test_a_breaker_is_closed_alike_on_both_ways",
    ShowIncident: "test_an_incident_and_an_export_are_the_same_on_both_ways",
    StartRun: "test_a_run_is_started_alike_on_both_ways",
}
"""Requests whose result no verb prints as one object, each with the test that finds its facts in what verbs print."""
NO_VERB: dict[type[Request[Any]], str] = {
    CompareWrite: "asked by the prompt of a permission to write a file, also by `run` at a terminal: lines, no JSON",
    ShowStatus: "asked by the program before it opens a console; `serve` prints two facts of it: see test_serving.py",
    StopRuntime: "`stop` waits until the process is gone, and prints what it came to: see test_serving.py",
}
"""Requests that the command line has no JSON for, and why."""
NO_REQUEST = {
    "mcp-login": "of the files here",
    "demo": "as run", "run": "drives the run in its own process", "replay": "opens a file", "drill": "writes a file",
    "prune": "deletes from the journal, which must not be done from afar", "classify": "reads a file",
    "config": "of the files here", "serve": "a process", "stop": "a process", "dial-stdio": "a transport",
    "themes": "of the files here", "keys": "of the files here", "doctor": "of this machine",
    "init": "of the files here", "worker": "a process",
    "mcp-approve": "of the files here", "mcp": "answers agents over its standard streams: see tests/console/mcp",
    "database": "of the store", "export": "writes a file", "log": "prints rows of `ReadLog` with their level",
}  # fmt: skip
"""Verbs of the command line whose JSON is not that of a request, and why."""


PRINTS = {
    "abort", "answer", "audit", "breakers", "budgets", "break", "cancel", "diff", "digest", "fork", "freeze", "grants",
    "incidents", "inject", "metrics", "move", "report", "revoke", "rewind", "runs", "show", "thaw", "waits", "workers",
}  # fmt: skip
"""Verbs of the command line that print the result of a request."""


def shape(value: Any) -> Any:
    """Names and types of all members; of a list, those of its items."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return sorted({json.dumps(shape(each)) for each in value})
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__


def lines(result: Any) -> list[Any]:
    """A result as the lines that the command line prints."""
    return result if isinstance(result, list) else [result]


def test_every_request_and_every_verb_is_told_of_here() -> None:
    tables: tuple[dict[type[Request[Any]], Any], ...] = (LOOKS, ACTS, IN_FLIGHT, COMPARED_BELOW, NO_VERB)
    assert Counter(kind for table in tables for kind in table) == Counter({*HANDLERS, ShowStatus, StopRuntime})
    for kind, test in COMPARED_BELOW.items():
        assert f"{kind.__name__}(" in inspect.getsource(globals()[test])
    assert {*PRINTS, *NO_REQUEST} == {*VERBS}
    assert not {*PRINTS} & {*NO_REQUEST}


@pytest.mark.parametrize("kind", LOOKS, ids=lambda kind: kind.__name__)
def test_a_verb_prints_what_the_link_answers(scene: Scene, kind: type[Request[Any]]) -> None:
    arguments, request = LOOKS[kind](scene)
    assert type(request) is kind
    printed = scene.program.json(*arguments)
    (answered,) = scene.told(request)
    if kind in VOLATILE:
        assert shape(printed) == shape(lines(answered))
    else:
        assert printed == lines(answered)
    assert printed or kind is ListGrants, "an empty list shows nothing"


def test_an_act_is_answered_with_the_same_object_on_both_ways(scene: Scene) -> None:
    here, there = scene.runs[:2]
    for kind, act in ACTS.items():
        printed = scene.program.json(*act(scene, here)[0])
        (answered,) = scene.told(act(scene, there)[1])
        assert shape(printed) == shape(lines(answered)), kind
        assert [each["state"] for each in printed] == [each["state"] for each in lines(answered)], kind
    assert scene.program.json("grants", "--all") == lines(scene.told(ListGrants(every=True))[0])
    assert len(scene.program.json("audit")) > len(ACTS)


@pytest.mark.parametrize("kind", IN_FLIGHT, ids=lambda kind: kind.__name__)
def test_an_act_on_a_call_is_answered_with_the_same_object_on_both_ways(scene: Scene, kind: type[Request[Any]]) -> None:
    here, there = asyncio.run(scene.cut_off("here")), asyncio.run(scene.cut_off("there"))
    printed = scene.program.json(*IN_FLIGHT[kind](scene, here)[0])
    assert [{**each, "id": there.run} for each in printed] == scene.told(IN_FLIGHT[kind](scene, there)[1])
    assert (printed[0]["id"], printed[0]["node"]) == (here.run, here.node)
    assert "has no calls of tools under way" in scene.program("cancel", here.run, "a/llm~0").stderr
    assert [each["params"] for each in scene.program.json("audit") if each["what"] == "cancelled a call"] == [
        {"node_id": here.node}
    ] * 2


def test_answers_to_all_that_are_the_same_are_told_alike(scene: Scene) -> None:
    one, other = scene.runs[2:]
    done = scene.program("answer", one.incident, "deny", "--like-this", "--proof", "0", "--json")
    printed = [json.loads(line) for line in done.stdout.splitlines()]
    (answered,) = scene.told(AnswerEqual(incident_id=other.incident, option="deny", proof_s=0))
    assert printed[0] == {**answered[0], "id": one.incident, "run_id": one.run}
    assert [*printed[1]] == [*answered[0]]


def test_an_incident_and_an_export_are_the_same_on_both_ways(scene: Scene) -> None:
    row = scene.program.json("incidents")[0]
    shown, exported = scene.told(
        ShowIncident(incident_id=str(row["id"])), ExportRun(run_id="", incident_id=str(row["id"]))
    )
    assert shown == {name: row[name] for name in shown}
    (tree,) = scene.program.json("show", str(row["run_id"]))
    assert shown in tree["incidents"]
    printed = scene.program("export", str(row["id"]), "-o", "-").stdout
    here, there = ([json.loads(line) for line in text.splitlines()] for text in (printed, exported["text"]))
    assert shape(here) == shape(there)
    assert here[1:] == there[1:] != [], "what comes after the head, which says when it was written"


def test_an_event_is_printed_as_the_link_tells_it_with_its_id_and_its_level(scene: Scene) -> None:
    run_id = scene.runs[0].run
    printed = scene.program.json("log", run_id)
    (answered,) = scene.told(ReadEvents(run_id=run_id))
    assert printed == [
        {"id": f"{run_id}:{each['seq']}", "level": row["level"], **each}
        for row, each in zip(printed, answered, strict=True)
    ]


def test_whole_rows_of_the_log_are_events_and_others_are_cut(scene: Scene) -> None:
    run_id = scene.runs[0].run
    events, whole, cut = scene.told(
        ReadEvents(run_id=run_id), ReadLog(run_id=run_id, whole=True), ReadLog(run_id=run_id)
    )
    assert [row["event"] for row in whole] == events
    assert [row["at"] for row in whole] == [row["at"] for row in cut] == [event["seq"] for event in events]
    assert len(json.dumps(cut)) < len(json.dumps(whole))


def test_a_run_is_started_alike_on_both_ways(scene: Scene) -> None:
    here = scene.park("milk").run
    found, checked = scene.told(ListSwarms(), CheckSwarm(ref="keeper.py:swarm"))
    (started,) = scene.told(StartRun(ref=checked["ref"], input="milk"))
    rows = {str(each["id"]): each for each in scene.program.json("runs")}
    assert started == {name: rows[started["id"]][name] for name in started}
    (created,), (also,) = scene.told(ReadEvents(run_id=here, limit=1), ReadEvents(run_id=started["id"], limit=1))
    assert shape(created) == shape(also)
    same = {"ref", "input", "title", "type"}
    assert {name: created[name] for name in same} == {name: also[name] for name in same}
    assert checked["ref"] == created["ref"]
    assert checked["ref"] in {f"{found['root']}/{ref}" for ref in found["refs"]}


def test_a_grant_and_its_answer_are_the_same_wherever_they_are_told(scene: Scene) -> None:
    on = scene.park("cocoa")
    scene.program.json("answer", on.incident, "grant", "--for", "run")
    rows = {str(each["id"]): each for each in scene.program.json("grants")}
    grant = rows[scene.grant_of(on)]
    uses, permissions, precedent = scene.told(
        ListGrantUses(grant_id=grant["id"]), ListPermissions(), FindPrecedent(incident_id=on.incident)
    )
    assert uses == {**grant, "recent": []}
    assert permissions["grants"] == [*rows.values()]
    settings = {each["id"]: each for each in scene.program.json("config")}
    rules = {(each["verb"], each["verdict"]): each for each in permissions["rules"]}
    denied, default = settings["permissions.deny"], settings["permissions.default"]
    assert (denied["value"], denied["source"]) == (["net.fetch"], rules["net.fetch", "deny"]["source"])
    assert rules["*", default["value"]]["source"] == default["source"]
    audit = {(each["incident_id"], each["option"]): each for each in scene.program.json("audit")}
    told = audit[on.incident, "grant"]
    assert precedent["params"] == {"for": "once"}, "of a standing grant only this much may be said to others"
    assert [precedent[name] for name in ("id", "run_id", "option", "by", "ts")] == [
        told[name] for name in ("incident_id", "run_id", "option", "person", "ts")
    ]


def test_a_proposal_is_listed_as_it_was_taken(scene: Scene) -> None:
    on = scene.park("water")
    (taken,) = scene.told(ProposeAnswer(incident_id=on.incident, option="deny", reason="not now"))
    (row,) = (each for each in scene.program.json("incidents") if each["id"] == on.incident)
    (listed,) = row["proposals"]
    told = {name: each for name, each in listed.items() if name not in {"ts", "revision"}}
    assert taken == {**told, "id": row["id"], "run_id": row["run_id"], "state": "proposed"}


def test_a_breaker_is_closed_alike_on_both_ways(scene: Scene) -> None:
    key = str(scene.program.json("breakers", "--all")[0]["id"])
    closed = scene.program.json("breakers", "--reset", key)
    assert closed == scene.told(ResetBreaker(key=key)) == [{"id": key, "state": "closed"}]


def test_the_log_file_is_told_alike_without_secrets(scene: Scene) -> None:
    path = scene.program.directory / ".orbiter" / "runtime.log"
    path.write_text("INFO up\nERROR key sk-ant-api03-0123456789abcdefghij0123456789 refused\n")
    (printed,) = scene.program.json("log", "--file")
    assert [printed] == scene.told(ReadLogFile())
    assert (printed["path"], printed["end"]) == (str(path), path.stat().st_size)
    assert "sk-ant" not in printed["text"] + scene.program("log", "--file").stdout
    assert scene.program.json("log", "--file", "--grep", "up")[0]["text"] == "INFO up\n"


def test_a_look_is_noted_alike_on_both_ways(scene: Scene) -> None:
    scene.program.json("digest")
    (here,) = scene.told(ReadEvents(run_id=ev.WORKSPACE_RUN_ID))
    answered, there = scene.told(NoteLook(), ReadEvents(run_id=ev.WORKSPACE_RUN_ID))
    assert answered is None
    assert there[:-1] == here
    assert {**there[-1], "by": here[-1]["by"], "ts": here[-1]["ts"], "seq": here[-1]["seq"]} == here[-1]
