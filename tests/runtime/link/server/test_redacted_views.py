"""`redact_views`: no secret reaches a console, and answers still work on the original values."""

from __future__ import annotations

from typing import Any

import pytest

from orbiter.redaction import REDACTED
from runtime.execution.view_redaction import ViewRedactor
from runtime.link.client.client import LinkClient
from runtime.link.server import picture_parts
from runtime.link.wire import protocol as p
from runtime.link.wire.link_status import CommandRefused
from runtime.record.state import events as ev
from tests.present import present
from tests.runtime.link.link_bench import FAULT, Bench, Driver, Raw

KEY = "sk-proj-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 2
EDIT = ev.Option(id="edit", label="Edit the call", needs="arguments")
DENY = ev.Option(id="deny", label="Deny")
ARGUMENTS: dict[str, Any] = {
    "url": "https://example.org",
    "client_secret": "orange-otter-42",
    "note": f"use {KEY}",
    "headers": [{"name": "X-Api-Key", "value": "plain-words-here-1"}, {"name": "Accept", "value": "text/html"}],
    "7": {"state": KEY, "id": KEY},
}
MASKED = ViewRedactor(masked=True)


async def _asked(bench: Bench) -> Driver:
    driver = await bench.started()
    await driver.nodes("n0", "secrets")
    await driver.write(
        ev.IncidentOpened(
            incident_id="i-1",
            node_id="n0",
            fault=FAULT,
            options=(EDIT, DENY),
            action={"tool": "post", "arguments": ARGUMENTS},
        )
    )
    return driver


async def _answered(bench: Bench, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the answer has in the journal."""
    console = await bench.console()
    await console.command("answer", incident_id="i-1", option="edit", params={"arguments": arguments}, revision=1)
    found = present(await (await bench.open()).incident("i-1"))
    assert found[2] is not None
    params: dict[str, Any] = found[2].params
    return dict(params["arguments"])


def _arguments(console: LinkClient) -> dict[str, Any]:
    return dict(console.incidents["i-1"].opened.action["arguments"])


@pytest.mark.parametrize("masked", [True, False])
async def test_no_line_to_a_console_holds_a_secret(bench: Bench, *, masked: bool) -> None:
    driver = await _asked(bench)
    await bench.serve(views=ViewRedactor(masked=masked))
    raw = await Raw.dial(bench)
    raw.say(b'{"t":"attach"}\n{"t":"watch","run_id":"run-1"}\n')
    raw.say(b'{"t":"command","id":"c","verb":"report","args":{"incident_id":"i-1"}}\n')
    told = [await raw.hear()]
    while not {"run", "snapshot", "reply"} <= {each.t for each in told}:
        told.append(await raw.hear())
    await driver.write(ev.NodeClosed(node_id="n0", state="failed", error=f"refused: {KEY}"))
    while told[-1].t != "event":
        told.append(await raw.hear())
    await raw.end()
    text = "".join(str(each) for each in told)
    assert ("orange-otter-42" in text, KEY in text, "plain-words-here-1" in text) == (not masked,) * 3
    assert "https://example.org" in text


async def test_what_is_no_secret_is_the_same_for_a_console(bench: Bench) -> None:
    driver = await _asked(bench)
    await bench.serve(views=MASKED)
    console = await bench.console("viewer")
    console.watch("run-1")
    await console.wait_until(lambda: console.run("run-1") is not None and "i-1" in console.incidents)
    await driver.write(ev.NodeClosed(node_id="n0", state="failed", error="refused"))
    await console.wait_until(lambda: (state := console.run("run-1")) is not None and state.nodes["n0"].terminal)
    state = present(console.run("run-1"))
    truth = await driver.truth()
    assert (state.last_seq, state.nodes) == (truth.last_seq, truth.nodes)
    assert state.incidents["i-1"].opened.options == (EDIT, DENY)


async def test_an_edit_of_what_is_masked_changes_only_what_was_edited(bench: Bench) -> None:
    await _asked(bench)
    await bench.serve(views=MASKED)
    console = await bench.console()
    await console.wait_until(lambda: "i-1" in console.incidents)
    shown = _arguments(console)
    assert shown["client_secret"] == REDACTED
    edited = {**shown, "url": "https://example.net", "more": 1}
    assert await _answered(bench, edited) == {**ARGUMENTS, "url": "https://example.net", "more": 1}


@pytest.mark.parametrize(
    "edit",
    [
        {"note": f"use {REDACTED} twice"},
        {"url": REDACTED},
        {"new": [REDACTED]},
        {REDACTED: 1},
        {"headers": [{"name": "X-Api-Key", "value": REDACTED}]},
        {"client_secret": {"inner": REDACTED}},
    ],
    ids=str,
)
async def test_an_edit_in_which_a_mask_is_left_is_refused(bench: Bench, edit: dict[str, Any]) -> None:
    await _asked(bench)
    await bench.serve(views=MASKED)
    console = await bench.console()
    params = {"arguments": {**MASKED.mask_value(ARGUMENTS), **edit}}
    with pytest.raises(CommandRefused, match="masked"):
        await console.command("answer", incident_id="i-1", option="edit", params=params, revision=1)
    found = present(await (await bench.open()).incident("i-1"))
    assert found[2] is None


async def test_where_nothing_is_masked_a_mark_is_a_text(bench: Bench) -> None:
    await _asked(bench)
    await bench.serve(views=ViewRedactor())
    edited = {**ARGUMENTS, "note": f"use {REDACTED}"}
    assert await _answered(bench, edited) == edited


async def test_a_change_in_which_a_mask_is_left_is_refused(bench: Bench) -> None:
    driver = await _asked(bench)
    await driver.write(
        ev.StepRequested(node_id="t", kind="tool", name="post", agent="n0", requested={"arguments": ARGUMENTS}),
    )
    await bench.serve(views=MASKED)
    console = await bench.console()
    with pytest.raises(CommandRefused, match="masked"):
        await console.command("fork", run_id="run-1", node_id="t", changes={"arguments": {"note": f"{REDACTED}."}})
    changes = {"arguments": {**MASKED.mask_value(ARGUMENTS), "url": "https://example.net"}}
    forked = (await console.command("fork", run_id="run-1", node_id="t", changes=changes))["id"]
    created = (await (await bench.open()).read(forked))[0]
    assert isinstance(created, ev.RunCreated)
    assert created.options["fork"]["changes"]["arguments"] == {**ARGUMENTS, "url": "https://example.net"}


async def test_pieces_of_a_streamed_reply_are_not_sent(bench: Bench) -> None:
    await _asked(bench)
    await bench.serve(views=MASKED)
    await bench.watching()
    assert not bench.streams.wants("run-1")


async def test_a_view_that_cannot_be_made_ends_the_connection(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is shown unmasked instead, and no console waits for ever."""
    await bench.serve(views=ViewRedactor(("(",), masked=True))
    raw = await Raw.dial(bench)
    raw.say(b'{"t":"attach"}\n')
    assert (await raw.hear()).t == "hello"
    with pytest.raises(EOFError):
        await raw.hear()
    await raw.end()
    assert "cannot be read" in caplog.text


async def test_what_goes_first_of_a_big_picture_is_masked_like_the_rest(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_parts, "ROWS_PER_PART", 1)
    await bench.started("run-0")
    await _asked(bench)
    await bench.serve(views=ViewRedactor(masked=True))
    raw = await Raw.dial(bench)
    raw.say(b'{"t":"attach"}\n')
    told = [message for message in [await raw.hear() for _ in range(2)] if isinstance(message, p.WorkspaceSnapshot)]
    raw.say(b'{"t":"ack","taken":1}\n')
    told += [message for message in [await raw.hear() for _ in range(2)] if isinstance(message, p.WorkspaceSnapshot)]
    await raw.end()
    assert [each.whole for each in told] == [p.PictureSize(runs=2, incidents=1), None, None]
    assert "i-1" in str(told[0])
    assert not any("orange-otter-42" in str(each) for each in told)
