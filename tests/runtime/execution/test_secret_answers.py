"""Secrets that are given as answers: they reach their tool, and no file, log or error has them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orbiter.errors import ConfigurationError
from runtime.config.workspace_keys import add_key, read_keys
from runtime.daemon.log_file import EscapingFormatter
from runtime.operations.decisions import InvalidCommand
from runtime.record.state import events as ev
from tests.runtime.bench import ME, Bench
from tests.runtime.execution.answering import only


def journal_text(bench: Bench) -> bytes:
    return b"".join(path.read_bytes() for path in bench.root.glob("journal.db*"))


async def test_a_secret_reaches_the_tool_and_no_file(bench: Bench) -> None:
    async with bench.driving():
        run = await bench.start("quiz_secret")
        incident = await only(bench, run)
        assert incident.opened.traceback == "", "a question is not a failure of code"
        with pytest.raises(InvalidCommand, match="given with input"):
            await bench.decisions.answer(incident.opened.incident_id, "skip", {"value": "correct horse"}, by=ME)
        await bench.answer(incident, "input", value="correct horse battery")
        state = await bench.ended(run)
        assert bench.effects == [f"quiz secret {'*' * 21}"]
        assert b"correct horse" not in journal_text(bench)
    assert state.phase == "completed"
    assert state.nodes["quiz_secret~0/quiz~0.0/ask~0"].phase == "succeeded"
    assert state.anomalies == 0


@pytest.mark.parametrize(("secret", "piece"), [("Tr0ub4dor&3 é", "Tr0ub4dor"), ("x7-Q", "x7-Q")])
async def test_a_secret_that_comes_back_in_a_result_or_an_error_is_in_no_file(
    bench: Bench, secret: str, piece: str
) -> None:
    async with bench.driving(grace_s=0.0):
        run = await bench.start("leaker")
        for number in (1, 2):
            await bench.until(run, lambda s: len(s.incidents) >= number)  # noqa: B023 - awaited here
            (incident, *_) = await bench.journal.incidents(run)
            await bench.answer(incident, "input", value=secret)
        state = await bench.ended(run)
        for path in bench.root.iterdir():
            if path.is_file() and path != bench.effects_file:
                assert piece.encode() not in path.read_bytes(), path
    assert state.phase == "completed"
    assert state.anomalies == 0
    assert piece not in state.output
    recorded = [node.result for node in state.nodes.values() if node.name == "leak"]
    assert "[redacted]" in json.dumps(recorded)


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_run_whose_model_was_told_a_secret_is_known_again_in_a_later_life(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, restarted: bool
) -> None:
    from runtime.execution import secret_vault

    async with bench.driving():
        run = await bench.start("leaks_then_asks")
        await bench.answer(await only(bench, run), "input", value="Tr0ub4dor&3")
        await bench.until(run, lambda s: len(s.incidents) == 2)
    if restarted:
        monkeypatch.setattr(secret_vault, "VAULT", secret_vault.SecretVault())
    await bench.answer(await only(bench, run), "input", value="no")
    async with bench.driving():
        state = await bench.ended(run)
    assert state.output == "quiz: got a str"
    assert state.anomalies == 0


async def test_a_secret_that_an_error_quotes_is_in_no_line_of_the_log(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    async with bench.driving():
        run = await bench.start("locked_out")
        await bench.answer(await only(bench, run), "input", value="Tr0ub4dor&3 z")
        await bench.until(run, lambda s: len(s.incidents) == 2)
    written = [EscapingFormatter().format(record) for record in caplog.records]
    assert [text for text in written if "Wrong password" in text]
    assert not [text for text in written if "Tr0ub4dor" in text]


async def test_a_secret_is_asked_for_again_after_a_restart_and_masked_in_errors(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    from runtime.execution import incidents, resolution, secret_vault

    async with bench.driving():
        run = await bench.start("loggingin")
        await bench.answer(await only(bench, run), "input", value="hunter2hunter2")
        more = await only(bench, run)
        assert more.opened.question == "anything else?"
    # Another process: another key.
    fresh = secret_vault.SecretVault()
    monkeypatch.setattr(resolution, "VAULT", fresh)
    monkeypatch.setattr(incidents, "VAULT", fresh)
    await bench.answer(more, "input", value="no")
    async with bench.driving():
        again = await only(bench, run)
        assert again.opened.question == "password for db?"
        assert again.opened.incident_id != more.opened.incident_id
        await bench.answer(again, "input", value="hunter3hunter3")
        state = await bench.ended(run)
    assert bench.effects == ["login 14", "login 14"]
    assert state.anomalies == 0
    # What the tool itself tells the model is its author's; nothing of ours wrote it down.
    answered = [e for e in await bench.journal.read(run) if isinstance(e, ev.IncidentAnswered)]
    assert all("hunter" not in json.dumps(e.params) for e in answered)


async def test_another_worker_with_the_workspaces_keys_goes_on_with_a_secret(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from runtime.execution import incidents, resolution, secret_vault
    from runtime.worker import supervisor

    keys = tmp_path / "workspace.keys"
    assert add_key(keys) == 1
    for life in range(2):
        vault = secret_vault.SecretVault()  # another process
        for module in (resolution, incidents, supervisor, secret_vault):
            monkeypatch.setattr(module, "VAULT", vault)
        async with bench.driving(secret_keys_file=str(keys)):
            if not life:
                run = await bench.start("loggingin")
                await bench.answer(await only(bench, run), "input", value="hunter2hunter2")
                more = await only(bench, run)
                assert more.opened.question == "anything else?"
                assert add_key(keys) == 2, "what was sealed to the older one can still be opened"
            else:
                await bench.answer(more, "input", value="no")
                state = await bench.ended(run)
    assert bench.effects == ["login 14", "login 14"]
    asked = [each.opened.question for each in state.incidents.values()]
    assert asked == ["password for db?", "anything else?"], "it is not asked again"
    written = "".join(ev.dump_event(event) for event in await bench.journal.read(run))
    assert not [each for each in ("hunter2", *(pair.to_text() for pair in read_keys(keys))) if each in written]


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ("", 0o600, "holds no key"),
        ("# a comment\n12ab\n", 0o600, "line 2: must be a key that"),
        ("\n", 0o644, "is open to others: chmod 600"),
        (None, 0o600, "cannot read the keys"),
    ],
)
def test_a_file_of_keys_that_cannot_be_used_is_named_and_not_quoted(
    tmp_path: Path, text: str | None, mode: int, told: str
) -> None:
    keys = tmp_path / "workspace.keys"
    if text is not None:
        keys.write_text(text)
        keys.chmod(mode)
    with pytest.raises(ConfigurationError, match=told) as caught:
        read_keys(keys)
    assert "12ab" not in str(caught.value)
