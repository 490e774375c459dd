"""What screens ask over the link: events and the log file, permissions with their uses, budgets."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from runtime.config.loader import load_configuration
from runtime.execution.execution_config import ExecutionConfig
from runtime.judgement.recovery.budget import Budget
from runtime.judgement.recovery.retry import RetryPolicy
from runtime.link.client.client import CommandRefused, LinkClient
from runtime.operations.context import OperationContext, Origin
from runtime.operations.log_lines import MAX_TEXT_CHARS, PAGE_BYTES, read_whole_lines, shorten_event
from runtime.operations.operations import Operations
from runtime.operations.requests.limits import ListBudgets
from runtime.operations.requests.permissions import ListPermissions
from runtime.operations.requests.reports import ReadLog, ReadLogFile
from runtime.operations.usage import UsageReader
from runtime.record.state import events as ev
from runtime.service.embedded import EmbeddedRuntime
from runtime.service.serve import build_execution_config
from tests.runtime.link.link_bench import Bench
from tests.runtime.link.linked import linked
from tests.swarm_texts import BREAKER_CONFIG, DOWN

ZOO = Path(__file__).parents[3] / "data" / "swarms" / "zoo.py"
CONFIG = """\
[permissions]
allow = ["fs.read:./**"]
deny = ["writer fs.write:/etc/**"]
"""


@pytest.fixture
async def console(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LinkClient]:
    monkeypatch.setenv("ORBITER_TEST_EFFECTS", str(tmp_path / "effects"))
    given = ExecutionConfig(
        workspace=str(tmp_path), policy=RetryPolicy(max_attempts=1), budget=Budget(max_steps=5, max_tool_calls=1)
    )
    with EmbeddedRuntime(tmp_path / ".orbiter", given, listening=False) as runtime:
        async with linked(runtime.transport()) as client:
            yield client


ADA = Origin(ev.Actor(name="ada"))


async def operations(bench: Bench, **config: Any) -> Operations:
    given = ExecutionConfig(workspace=str(bench.workspace), **config)
    log_file = bench.state_dir / "runtime.log"
    return Operations(OperationContext(await bench.open(), bench.workspace, log_file, given))


async def test_a_grant_its_uses_and_a_denial_come_with_the_actions_that_they_were_about(console: LinkClient) -> None:
    assert (await console.command("permissions"))["grants"] == []
    await console.command("start", ref=f"{ZOO}:twice", input="go")
    await console.wait_until(lambda: bool(console.incidents))
    (row,) = console.incidents.values()
    await console.command("answer", incident_id=row.opened.incident_id, option="grant", params={"for": "always"})
    await console.wait_until(lambda: row.opened.incident_id not in console.incidents and bool(console.grants))
    await console.wait_until(lambda: bool(console.incidents) or console.summaries[row.run_id].state == "completed")
    found = await console.command("permissions")
    (held,) = found["grants"]
    assert held["uses"] >= 1
    assert [use["how"] for use in found["recent"]] == ["grant"] * held["uses"]
    assert found["recent"][0]["need"] == row.opened.action["permission"]
    assert await console.command("permissions", seen=found["version"]) == {
        "version": found["version"], "grants": [], "recent": [], "rules": []
    }  # fmt: skip
    uses = await console.command("uses", grant_id=held["id"])
    assert [use["run_id"] for use in uses["recent"]] == [row.run_id] * held["uses"]
    with pytest.raises(CommandRefused, match="no grant is called g-0"):
        await console.command("uses", grant_id="g-0")
    await console.command("revoke", grant_id=held["id"])
    await console.wait_until(lambda: not console.grants)
    after = await console.command("permissions", seen=found["version"])
    assert after["version"] > found["version"]
    assert after["grants"] == []


async def test_what_a_person_or_the_configuration_denied_is_told_too(bench: Bench) -> None:
    driver = await bench.started()
    journal = await bench.open()
    await driver.nodes("writer~0")
    for number, option in enumerate(("deny", "grant")):
        await driver.incident(f"i-{number}", "writer~0", action={"permission": f"fs.write:/etc/{number}"})
        answered = ev.IncidentAnswered(
            run_id="run-1",
            node_id="writer~0",
            incident_id=f"i-{number}",
            revision=1,
            option=option,
            by=ev.Actor(name="ada", channel="console"),
        )
        await journal.answer(answered)
    found = await (await operations(bench)).run(ListPermissions(), ADA)
    assert [(use.how, use.need, use.by, use.node_id) for use in found.recent] == [
        ("denied", "fs.write:/etc/0", "ada", "writer~0"),
        ("once", "fs.write:/etc/1", "ada", "writer~0"),
    ]


async def test_rules_say_where_they_stand_and_whether_they_hold_yet(tmp_path: Path) -> None:
    bench = Bench(tmp_path / ".orbiter")
    (tmp_path / "orbiter.toml").write_text(CONFIG)
    policy = load_configuration(tmp_path).permissions
    try:
        asked = await operations(bench, permissions=policy)
        rules = (await asked.run(ListPermissions(), ADA)).rules
        place = str(tmp_path / "orbiter.toml")
        assert [(each.verdict, each.subject, each.verb, each.source) for each in rules] == [
            ("deny", "writer", "fs.write", f"{place}:3"),
            ("allow", "*", "fs.read", f"{place}:2"),
            ("ask", "*", "*", "default"),
            ("allow", "*", "agent.invoke", "default, where nothing is said"),
        ]
        (tmp_path / "orbiter.toml").write_text('[permissions]\nask = ["shell"]\n')
        rules = (await asked.run(ListPermissions(seen=-1), ADA)).rules
        assert [(each.verb, each.in_force) for each in rules][:3] == [
            ("fs.write", True),
            ("fs.read", True),
            ("shell", False),
        ]
        assert rules[0].source == "no longer in a file"
        (tmp_path / "orbiter.toml").write_text("[permissions\n")
        assert "not in a file that can be read now" in (await asked.run(ListPermissions(), ADA)).rules[0].source
    finally:
        await bench.close()


async def test_the_log_goes_on_from_where_it_was_and_back(bench: Bench) -> None:
    driver = await bench.started()
    await driver.nodes("a~0")
    await driver.write(*(ev.Warned(node_id="a~0", text=f"w{number}") for number in range(6)))
    asked = await operations(bench)
    rows = await asked.run(ReadLog(limit=3), ADA)
    assert [row.event["text"] for row in rows] == ["w3", "w4", "w5"]
    older = await asked.run(ReadLog(before=rows[0].at, limit=2), ADA)
    assert [row.event["text"] for row in older] == ["w1", "w2"]
    await driver.write(ev.Warned(node_id="a~0", text="new"))
    (newer,) = await asked.run(ReadLog(after=rows[-1].at), ADA)
    assert newer.event["text"] == "new"
    assert await asked.run(ReadLog(after=newer.at), ADA) == ()
    of_run = await asked.run(ReadLog(run_id="run-1", limit=1), ADA)
    assert of_run[0].at == of_run[0].event["seq"] == (await driver.truth()).last_seq
    assert await asked.run(ReadLog(run_id="nobody"), ADA) == ()


def test_an_event_is_shortened_and_still_an_event() -> None:
    ended = ev.StepEnded(
        attempt=1, result={"content": "x" * 5000, "list": [{"deep": "y" * 900}] * 50}, run_id="r", seq=3, node_id="a~0"
    )
    read = ev.parse_event(shorten_event(ended))
    assert isinstance(read, ev.StepEnded)
    assert len(read.result["content"]) == MAX_TEXT_CHARS
    assert len(read.result["list"]) == 10
    assert (read.run_id, read.seq) == ("r", 3)
    sealed = {"value": {"sealed": {"body": "abc"}}}
    answered = ev.IncidentAnswered(incident_id="i", revision=1, option="input", params=sealed)
    assert shorten_event(answered)["params"] == {"value": "(secret)"}


def test_the_log_file_is_told_in_whole_lines_from_a_place_on(tmp_path: Path) -> None:
    path = tmp_path / "runtime.log"
    assert read_whole_lines(path, None) == ("", 0, 0)
    path.write_bytes(b"one\ntwo\nhal")
    assert read_whole_lines(path, None) == ("one\ntwo\n", 0, 8)
    assert read_whole_lines(path, 8) == ("", 8, 8)
    path.write_bytes(b"one\ntwo\nhalf\n")
    assert read_whole_lines(path, 8) == ("half\n", 8, 13)
    path.write_bytes(b"new\n")
    assert read_whole_lines(path, 13) == ("new\n", 0, 4), "a log that was begun again is read from its beginning"
    path.write_bytes(b"x" * 100 + b"\n" + b"line\n" * PAGE_BYTES)
    text, began, end = read_whole_lines(path, None)
    assert text.startswith("line\n")
    assert len(text) <= PAGE_BYTES
    assert (end - began, end) == (len(text), path.stat().st_size)
    assert read_whole_lines(path, 5)[2] == end


async def test_secrets_are_masked_in_the_log_file(bench: Bench) -> None:
    bench.state_dir.mkdir(parents=True, exist_ok=True)
    (bench.state_dir / "runtime.log").write_text("INFO sk-ant-api03-abcdefghijklmnopqrstuvwx0123 of ada@example.org\n")
    found = await (await operations(bench)).run(ReadLogFile(), ADA)
    assert "abcdefghijkl" not in found.text
    assert "ada@" not in found.text


async def test_budgets_say_what_is_used_of_what_and_which_decision_waits(console: LinkClient) -> None:
    assert await console.command("budgets") == []
    await console.command("start", ref=f"{ZOO}:noter", input="go", options={"budget": {"max_steps": 1}})
    await console.wait_until(lambda: any(each.opened.action.get("budget") for each in console.incidents.values()))
    (row,) = console.incidents.values()
    (run,) = await console.command("budgets")
    assert run["id"] == row.run_id
    limits = {each["limit"]: each for each in run["limits"]}
    assert limits["max_steps"]["level"] == "hit"
    assert (limits["max_steps"]["used"], limits["max_steps"]["allowed"]) == (1, 1)
    assert limits["max_steps"]["incident_id"] == row.opened.incident_id
    assert limits["max_tool_calls"] == {
        "scope": "", "of": "the run", "limit": "max_tool_calls", "used": 0, "allowed": 1, "level": "", "incident_id": ""
    }  # fmt: skip
    assert run["spent"]["llm_calls"] == 1
    await console.command("abort", run_id=row.run_id)
    await console.wait_until(lambda: console.summaries[row.run_id].state == "aborted")
    assert await console.command("budgets") == []
    assert (await console.command("budgets", run_id=row.run_id))[0]["state"] == "aborted"
    with pytest.raises(CommandRefused, match="unknown run"):
        await console.command("budgets", run_id="nope")


async def test_folds_of_budgets_are_kept_and_fed(bench: Bench) -> None:
    driver = await bench.started()
    journal = await bench.open()
    spending = UsageReader(journal, Budget(max_llm_calls=2))
    summary = await journal.summary("run-1")
    assert summary is not None
    started = ev.StepStarted(node_id="a~0", kind="llm", name="m", agent="a", attempt=1, epoch=1)
    for used, level in ((1, ""), (2, "hit")):
        await driver.write(replace(started, node_id=f"a~{used}"))
        (limit,) = (await spending.usage_of(summary, ev.utc_now())).limits
        assert (limit.used, limit.level) == (used, level)
    assert (await (await operations(bench)).run(ListBudgets(), ADA))[0].limits == ()


async def test_a_breaker_tells_its_last_error_and_a_console_hears_of_its_change(tmp_path: Path) -> None:
    (tmp_path / "orbiter.toml").write_text(BREAKER_CONFIG)
    (tmp_path / "down.py").write_text(DOWN)
    with EmbeddedRuntime(tmp_path / ".orbiter", build_execution_config(tmp_path, {})) as runtime:
        one, other = LinkClient(runtime.transport()), LinkClient(runtime.transport())
        one.start()
        other.start()
        try:
            await one.command("start", ref="down.py:agent", input="go")
            await one.wait_until(lambda: bool(one.incidents))
            (row,) = await one.command("breakers")
            assert (row["failures"], row["threshold"], row["state"]) == (2, 2, "open")
            assert row["error"]
            assert row["failed_s"] >= 0
            await other.wait_until(lambda: other.ready and bool(other.incidents))
            heard: list[int] = []
            end = other.subscribe(lambda: heard.append(1))
            await one.command("reset", key=row["id"])
            await other.wait_until(lambda: bool(heard))
            end()
            assert await one.command("breakers") == []
            (closed,) = await one.command("breakers", every=True)
            assert (closed["state"], closed["error"]) == ("closed", row["error"])
        finally:
            await one.close()
            await other.close()
