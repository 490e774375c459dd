"""Consoles on a runtime, over real Unix sockets."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from runtime.daemon import sockets
from runtime.link.client.client import CommandRefused, LinkLost
from runtime.record.state import events as ev
from tests.present import present
from tests.runtime.link.link_bench import SWARM, Bench, watched


async def test_a_console_is_told_the_picture_and_its_changes(bench: Bench) -> None:
    before = await bench.started("run-0")
    await before.incident("i-0")
    await bench.serve(keys=["ANTHROPIC_API_KEY"])
    console = await bench.console()
    assert console.status.phase == "connected"
    assert console.hello is not None
    assert console.hello.keys == ("ANTHROPIC_API_KEY",)
    assert list(console.summaries) == ["run-0"]
    assert console.incidents["i-0"].title == "team"
    driver = await bench.started("run-1", title="other")
    await driver.incident("i-1")
    await console.wait_until(lambda: "i-1" in console.incidents and console.summaries["run-1"].open_incidents == 1)
    assert console.incidents["i-1"].run_id == "run-1"
    assert console.incidents["i-1"].title == "other"
    await driver.write(ev.RunFinished(state="aborted"))
    await console.wait_until(lambda: "i-1" not in console.incidents)
    await console.wait_until(lambda: console.summaries["run-1"].state == "aborted")
    assert console.snapshots == ["first"]


async def test_a_watched_run_is_told_from_its_beginning_and_goes_on(bench: Bench) -> None:
    driver = await bench.started()
    await driver.nodes("a", "b")
    await bench.serve()
    console = await bench.watching()
    await driver.nodes("c")
    await driver.incident("i-1", node_id="c", answer_schema={"type": "string"})
    await console.wait_until(lambda: (state := console.run("run-1")) is not None and "i-1" in state.incidents)
    assert console.run("run-1") == await driver.truth()
    console.unwatch("run-1")
    assert console.run("run-1") is None


async def test_a_big_run_and_long_values_come_through(bench: Bench) -> None:
    driver = await bench.started()
    await driver.nodes(*(f"n{number}" for number in range(1200)))
    await driver.write(ev.NodeClosed(node_id="n0", state="succeeded", output="ü€😀\n\x00" * 200_000))
    await bench.serve()
    console = await bench.watching()
    await driver.write(ev.NodeClosed(node_id="n1", state="succeeded", output="\x1b" * 500_000))
    last = driver.state.last_seq + 1
    await console.wait_until(lambda: (state := console.run("run-1")) is not None and state.nodes["n1"].terminal)
    state = present(console.run("run-1"))
    assert len(state.nodes) == 1200
    assert state.nodes["n0"].output == "ü€😀\n\x00" * 200_000
    assert state.nodes["n1"].output == "\x1b" * 500_000
    assert state.last_seq >= last - 1


async def test_commands_start_answer_and_abort(bench: Bench) -> None:
    await bench.serve()
    console = await bench.console()
    run_id = (await console.command("start", ref=SWARM, input="hello", title="by hand"))["id"]
    await console.wait_until(lambda: run_id in console.summaries)
    assert console.summaries[run_id].title == "by hand"
    driver = await bench.driver(run_id)
    await driver.incident("i-1")
    await console.wait_until(lambda: "i-1" in console.incidents)
    result = await console.command("answer", incident_id="i-1", option="retry", revision=1, reason="net is back")
    assert result["option"] == "retry"
    await console.wait_until(lambda: "i-1" not in console.incidents)
    journal = await bench.open()
    found = present(await journal.incident("i-1"))
    answer = present(found[2])
    assert (answer.by.channel, answer.reason) == ("console", "net is back")
    assert answer.by.name
    await console.command("abort", run_id=run_id, reason="enough")
    events = await journal.read(run_id)
    assert [type(event) for event in events if isinstance(event, ev.AbortRequested)] == [ev.AbortRequested]


async def test_the_second_answer_is_refused_and_told_who_was_first(bench: Bench) -> None:
    driver = await bench.started()
    await driver.incident("i-1")
    await bench.serve()
    first, second = await bench.console(), await bench.console(channel="cli")
    assert list(first.incidents) == list(second.incidents) == ["i-1"]
    await first.command("answer", incident_id="i-1", option="retry", revision=1)
    with pytest.raises(CommandRefused, match="first") as caught:
        await second.command("answer", incident_id="i-1", option="abort", revision=1)
    assert caught.value.error == "refused"
    assert caught.value.detail["first"]["option"] == "retry"
    assert caught.value.detail["first"]["channel"] == "console"
    assert caught.value.detail["first"]["by"] in str(caught.value)
    await second.wait_until(lambda: not second.incidents)
    await first.wait_until(lambda: not first.incidents)


@pytest.mark.parametrize(
    ("verb", "args", "error", "words"),
    [
        ("dance", {}, "unknown_command", "'dance'"),
        ("start", {}, "bad_input", "ref"),
        ("start", {"ref": "x.py:a", "oops": 1}, "bad_input", "oops"),
        ("answer", {"incident_id": "none", "option": "retry"}, "bad_input", "none"),
        ("answer", {"incident_id": "i-1", "option": "grant"}, "bad_input", "retry, abort"),
        ("abort", {"run_id": "none"}, "bad_input", "none"),
        ("revoke", {"grant_id": "none"}, "bad_input", "none"),
        ("events", {"run_id": "run-1", "limit": 0}, "bad_input", "limit"),
        ("incident", {"incident_id": "none"}, "unknown_incident", "none"),
    ],
)
async def test_bad_commands_are_refused_in_words(
    bench: Bench, verb: str, args: dict[str, Any], error: str, words: str
) -> None:
    driver = await bench.started()
    await driver.incident("i-1")
    await bench.serve()
    console = await bench.console()
    with pytest.raises(CommandRefused) as caught:
        await console.command(verb, **args)
    assert caught.value.error == error
    assert words in str(caught.value)
    assert list(console.incidents) == ["i-1"]


async def test_a_viewer_can_do_nothing_but_look(bench: Bench) -> None:
    driver = await bench.started()
    await driver.incident("i-1")
    await bench.serve()
    viewer = await bench.console("viewer")
    assert viewer.hello is not None
    assert viewer.hello.role == "viewer"
    await watched(viewer)
    assert (await viewer.command("events", run_id="run-1"))[0]["type"] == "run.created"
    acts = {
        "start": {"ref": SWARM},
        "answer": {"incident_id": "i-1", "option": "retry"},
        "abort": {"run_id": "run-1"},
        "revoke": {"grant_id": "g"},
        "freeze": {},
        "thaw": {},
        "break": {"run_id": "run-1", "what": "tool", "pattern": "*"},
        "inject": {"run_id": "run-1", "agent": "a", "text": "x"},
        "cancel": {"run_id": "run-1", "node_id": "a/s"},
        "rewind": {"run_id": "run-1", "node_id": "a"},
        "fork": {"run_id": "run-1"},
        "stop": {},
    }
    for verb, args in acts.items():
        with pytest.raises(CommandRefused, match="viewer") as caught:
            await viewer.command(verb, **args)
        assert caught.value.error == "viewer"
    assert not bench.stopping.is_set()
    assert len(await driver.journal.read("run-1")) == 3


async def test_whatever_is_no_look_is_closed_to_viewers(bench: Bench) -> None:
    server = await bench.serve()
    looking_verbs = {name for name, verb in server.verbs.items() if not verb.request.acts}
    of_recovery = {"audit", "compare_write", "digest", "export", "ledger", "metrics", "precedent", "preview", "report"}
    of_screens = {"breakers", "budgets", "log", "logfile", "permissions", "swarms", "uses"}
    of_runs = {"diff", "events", "incident", "incidents", "runs", "search", "show", "status", "waits", "workers"}
    assert looking_verbs == of_recovery | of_screens | of_runs


async def test_what_an_agent_proposes_stands_in_the_inbox_also_of_a_runtime_that_starts_later(bench: Bench) -> None:
    driver = await bench.started()
    await driver.incident()
    await bench.serve()

    async def proposed(said: ev.AnswerProposed, shown: tuple[str, str]) -> None:
        await driver.journal.post("run-1", said)
        console = await bench.console()
        await console.wait_until(lambda: shown == ((row := console.incidents["i-1"]).proposed, row.proposed_by))

    def proposal(option: str, revision: int = 1) -> ev.AnswerProposed:
        by = ev.Actor(name="Claude Code (ada)", channel="mcp")
        return ev.AnswerProposed(incident_id="i-1", option=option, revision=revision, reason="x", by=by)

    await proposed(proposal("abort"), ("abort", "Claude Code (ada)"))
    await proposed(proposal("retry"), ("retry", "Claude Code (ada)"))
    await bench.stop()
    await bench.serve()
    await proposed(proposal("abort", revision=7), ("retry", "Claude Code (ada)"))


async def test_controls_over_runs(bench: Bench) -> None:
    driver = await bench.started()
    await driver.nodes("a")
    await driver.write(
        ev.StepStarted(node_id="a/s", parent_id="a", kind="tool", name="send", agent="a", attempt=1, epoch=1),
        ev.StepEnded(node_id="a/s", parent_id="a", attempt=1, result="sent"),
    )
    await bench.serve()
    console = await bench.console()
    console.watch("run-1")
    await console.command("break", run_id="run-1", what="tool", pattern="se*")
    await console.wait_until(
        lambda: (state := console.run("run-1")) is not None and ("tool", "se*") in state.breakpoints
    )
    await console.command("inject", run_id="run-1", agent="a", text="hurry")
    await console.wait_until(lambda: (state := console.run("run-1")) is not None and bool(state.injected))
    assert await console.command("freeze") == [{"id": "run-1", "state": "frozen"}]
    await console.wait_until(lambda: console.summaries["run-1"].state == "frozen")
    assert await console.command("thaw", run_id="run-1") == [{"id": "run-1", "state": "running"}]
    with pytest.raises(CommandRefused) as caught:
        await console.command("rewind", run_id="run-1", node_id="a")
    assert caught.value.error == "effects"
    assert caught.value.detail["nodes"] == [{"id": "a/s", "name": "send"}]
    assert (await console.command("rewind", run_id="run-1", node_id="a", confirm=True))["dropped"] == ["a", "a/s"]
    forked = (await console.command("fork", run_id="run-1"))["id"]
    await console.wait_until(lambda: forked in console.summaries)
    late = await bench.watching()
    assert late.run("run-1") == await driver.truth()


async def test_texts_stream_to_who_watches_and_to_who_comes_later(bench: Bench) -> None:
    driver = await bench.started()
    await bench.serve()
    assert not bench.streams.wants("run-1")
    early = await bench.console()
    assert bench.streams.wants("run-1")
    await watched(early)
    await driver.write(ev.StepStarted(node_id="s", kind="llm", name="m", agent="a", attempt=1, epoch=1))
    put = bench.streams.put
    await asyncio.to_thread(lambda: [put("run-1", "s", 1, "text", piece) for piece in ("Hel", "lo ", "world")])
    bench.streams.put("run-1", "s", 1, "reasoning", "hm")
    await early.wait_until(lambda: (text := early.text("run-1", "s")) is not None and text.reasoning == "hm")
    late = await bench.console()
    late.watch("run-1")
    await late.wait_until(lambda: (text := late.text("run-1", "s")) is not None and text.text == "Hello world")
    found = present(early.text("run-1", "s"))
    assert (found.text, found.reasoning, found.attempt) == ("Hello world", "hm", 1)
    bench.streams.put("run-1", "s", 2, "text", "again")
    await early.wait_until(lambda: (text := early.text("run-1", "s")) is not None and text.text == "again")
    await driver.write(ev.StepEnded(node_id="s", attempt=2, result={"x": 1}))
    await early.wait_until(lambda: early.text("run-1", "s") is None)
    await late.wait_until(lambda: late.text("run-1", "s") is None)


async def test_the_runtime_is_killed_the_console_says_so_and_goes_on_when_it_is_back(bench: Bench) -> None:
    driver = await bench.started()
    await bench.serve()
    console = await bench.watching()
    await bench.stop()
    await console.wait_until(lambda: console.status.phase == "lost")
    assert "no runtime works on" in console.status.reason
    with pytest.raises(LinkLost):
        await console.command("abort", run_id="run-1")
    assert list(console.summaries) == ["run-1"]
    await driver.nodes("while", "away")
    await bench.serve()
    await console.wait_until(lambda: console.status.phase == "connected")
    await console.wait_until(lambda: (state := console.run("run-1")) is not None and "away" in state.nodes)
    await console.wait_until(lambda: console.snapshots == ["first", "epoch"])
    assert console.run("run-1") == await driver.truth()


async def test_revive_starts_the_runtime_only_when_asked(bench: Bench) -> None:
    from runtime.link.client.client import LinkClient
    from runtime.link.transports.transport import UnixTransport

    started: list[str] = []

    async def reviver() -> None:
        started.append("once")
        await bench.serve()

    await bench.open()
    console = LinkClient(UnixTransport(bench.state_dir, reviver=reviver))
    bench.clients.append(console)
    console.start()
    await console.wait_until(lambda: console.status.phase == "lost")
    assert not started
    await console.revive()
    await console.wait_until(lambda: console.ready)
    assert started == ["once"]
    hopeless = LinkClient(UnixTransport(bench.state_dir))
    with pytest.raises(LinkLost, match="orbiter-console serve"):
        await hopeless.revive()


async def test_stored_replies_outlive_the_runtime(bench: Bench) -> None:
    await bench.serve()
    console = await bench.console()
    first = await console.command("start", command_id="261121-010203-abc", ref=SWARM)
    assert first["id"].startswith("261121-010203-")
    again = await console.command("start", command_id="261121-010203-abc", ref=SWARM)
    assert again == first
    with pytest.raises(CommandRefused):
        await console.command("abort", command_id="one", run_id="none")
    await bench.stop()
    await bench.serve()
    later = await bench.console()
    assert await later.command("start", command_id="261121-010203-abc", ref=SWARM) == first
    with pytest.raises(CommandRefused) as caught:
        await later.command("abort", command_id="one", run_id="none")
    assert caught.value.repeated
    assert len(await (await bench.open()).runs()) == 1


async def test_a_command_sent_twice_at_once_is_done_once(bench: Bench) -> None:
    await bench.serve()
    consoles = [await bench.console() for _ in range(3)]
    results = await asyncio.gather(*(found.command("start", command_id="same", ref=SWARM) for found in consoles))
    assert results[0] == results[1] == results[2]
    assert len(await (await bench.open()).runs()) == 1


async def test_one_signal_for_many_changes(bench: Bench) -> None:
    driver = await bench.started()
    await bench.serve()
    console = await bench.watching()
    signals: list[int] = []
    end = console.subscribe(lambda: signals.append(1))
    await driver.nodes(*(f"n{number}" for number in range(500)))
    await console.wait_until(lambda: (state := console.run("run-1")) is not None and len(state.nodes) == 500)
    assert 1 <= len(signals) < 100
    end()
    end()


async def test_ping_and_close(bench: Bench) -> None:
    await bench.serve()
    console = await bench.console()
    assert 0 <= await console.ping() < 60
    await console.close()
    assert console.status.phase == "closed"
    with pytest.raises(LinkLost):
        await console.command("status")
    with pytest.raises(LinkLost):
        await console.ping()


async def test_watching_what_is_not_there_says_so(bench: Bench) -> None:
    await bench.serve()
    console = await bench.console()
    console.watch("none")
    await console.wait_until(lambda: console.problem("none") != "")
    assert "none" in console.problem("none")
    assert console.run("none") is None


# -- sockets -----------------------------------------------------------------------------------------------------------


def test_sockets_are_ours_alone(tmp_path: Path) -> None:
    made = sockets.listen(tmp_path / "state")
    try:
        assert stat.S_IMODE(made.directory.stat().st_mode) == 0o700
        for role in sockets.ROLES:
            assert stat.S_IMODE(sockets.socket_path(made.directory, role).stat().st_mode) == 0o600
        with pytest.raises(sockets.SocketError, match="another runtime"):
            sockets.listen(tmp_path / "state")
        with sockets.dial(tmp_path / "state", "viewer"):
            pass
    finally:
        made.close()
    with pytest.raises(sockets.RuntimeNotRunning):
        sockets.dial(tmp_path / "state")


def test_a_dead_runtimes_sockets_are_replaced(tmp_path: Path) -> None:
    left = sockets.listen(tmp_path)
    for sock in left.by_role.values():
        sock.close()  # as a killed process does: the files stay
    with pytest.raises(sockets.RuntimeNotRunning):
        sockets.dial(tmp_path)
    again = sockets.listen(tmp_path)
    sockets.dial(tmp_path).close()
    again.close()


def test_a_directory_that_is_not_ours_alone_is_refused(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    run.chmod(0o755)  # whatever the umask
    with pytest.raises(sockets.SocketError, match="0755"):
        sockets.listen(tmp_path)
    run.rmdir()
    other = tmp_path / "other"
    other.mkdir(mode=0o700)
    run.symlink_to(other)
    with pytest.raises(sockets.SocketError, match="symbolic link"):
        sockets.listen(tmp_path)
    run.unlink()
    run.write_text("")
    with pytest.raises(sockets.SocketError, match="not a directory"):
        sockets.listen(tmp_path)


def test_a_long_path_gets_a_short_place(tmp_path: Path, short_place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 100) / ("e" * 100)
    made = sockets.listen(deep)
    try:
        assert made.directory.is_relative_to(short_place)
        assert all(len(os.fsencode(place / "operator.sock")) <= 107 for place in sockets.socket_directories(deep))
        sockets.dial(deep).close()
        assert list(sockets.socket_directories(deep)) != list(sockets.socket_directories(deep.parent))
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(short_place))  # as another login may have it
        sockets.dial(deep).close()
    finally:
        made.close()
    assert not made.directory.exists()
