"""What leaves the workspace: keys and addresses are masked, an export opens again, a sealed box opens for its key."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbiter.redaction import BadPattern, Redactor
from runtime.judgement.recovery.secret_box import (
    KeyPair,
    SealError,
    seal,
    unseal,
)
from runtime.judgement.reports import export_file
from runtime.record.state import events as ev
from tests.runtime.judgement.reports.recovery_events import T0, answered, at, opened

# -- redaction and exports ---------------------------------------------------------------------------------------------

KEYS = [
    "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789",
    "sk-ant-api03-abcdefghijklmnopqrstuvwxyz",
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "xoxb-1234567890-abcdefghijkl",
    "glpat-abcdefghij0123456789",
    "sk_live_abcdefghijklmnop",
    "AKIAIOSFODNN7EXAMPLE",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
    "grace.hopper+ops@navy.example.mil",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("around", ["{}", "key={}, next", '{{"a": "{}"}}', "see {}."])
def test_keys_and_addresses_are_masked_wherever_they_stand(key: str, around: str) -> None:
    assert key not in Redactor().text(around.format(key))


def test_configured_patterns_and_known_secrets_are_masked_and_plain_words_stay() -> None:
    redactor = Redactor([r"PATIENT-\d+"], ["hunter2"])
    assert redactor.text("PATIENT-17 typed hunter2 at 12:00") == "[redacted] typed [redacted] at 12:00"
    plain = "the file /data/out.md was not written: no space left (28)"
    assert redactor.text(plain) == plain
    assert redactor.value({"password": "x", "n": 1, "list": ["PATIENT-1"]}) == {
        "password": "[redacted]", "n": 1, "list": ["[redacted]"],
    }  # fmt: skip
    for bad in ("(", "a*"):
        with pytest.raises(BadPattern):
            Redactor([bad])


def export(events: list[ev.JournalEvent], incident_id: str = "") -> str:
    header = export_file.ExportHeader(orbiter_export=1, run_id="r1", incident_id=incident_id, exported_at=T0)
    return "\n".join(export_file.export_lines(events, header, Redactor()))


def test_an_export_opens_again_as_the_same_run_without_its_secrets() -> None:
    sealed = seal(KeyPair.generate().public, '"hunter2"')
    key = KEYS[0]
    events: list[ev.JournalEvent] = [
        ev.RunCreated(run_id="r1", ref="x:y", input=f"use {key}", seq=1, ts=at(0)),
        ev.NodeOpened(run_id="r1", node_id="a~0", kind="agent", name="a", seq=2),
        opened("i1", 1, node_id="a~0", seq=3),
        answered("i1", "input", 2, params={"value": sealed}, seq=4),
        ev.NodeOpened(run_id="r1", node_id="b~1", kind="agent", name="b", seq=5),
        ev.RunFinished(run_id="r1", state="completed", output="fine", seq=6),
    ]
    text = export(events)
    assert key not in text
    assert sealed["sealed"]["body"] not in text
    read = export_file.read_export(text)
    state = read.state()
    assert (state.phase, state.output, state.input) == ("completed", "fine", "use [redacted]")
    assert list(state.incidents) == ["i1"]
    assert state.anomalies == 0
    about = export_file.read_export(export(events, "i1"))
    assert [type(event).__name__ for event in about.events] == [
        "RunCreated", "NodeOpened", "IncidentOpened", "IncidentAnswered", "RunFinished",
    ]  # fmt: skip


HEADER = '{"orbiter_export": 1, "run_id": "r", "exported_at": "2026-01-01T00:00:00Z"}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("{}", "line 1 is not the header"),
        ('{"orbiter_export": 99, "run_id": "r", "exported_at": "2026-01-01T00:00:00Z"}', "format 99"),
        (f'{HEADER}\n{{"type":', "line 2 is not an"),
        (f'{HEADER}\n{{"type":"node.danced","x":{"[" * 200}{"]" * 200}}}', "line 2 is nested too deeply .* 200 levels"),
    ],
)
def test_what_is_no_export_is_named_by_line(text: str, said: str) -> None:
    with pytest.raises(export_file.InvalidExport, match=said):
        export_file.read_export(text)


# -- sealed ------------------------------------------------------------------------------------------------------------


OTHERS = KeyPair.generate()


@given(st.text(max_size=200))
def test_what_is_sealed_opens_for_its_key_alone(text: str) -> None:
    mine = KeyPair.generate()
    # The tilde is in no hexadecimal, base64 or name of a part: what begins with it cannot be in a box by chance.
    secret = f"~hunter2{text}"
    box = seal(mine.public, secret)
    assert unseal(mine, json.loads(json.dumps(box))) == secret
    assert "~" not in json.dumps(box, ensure_ascii=False)
    assert base64.b64decode(box["sealed"]["body"]) != secret.encode("utf-8", "surrogatepass")
    with pytest.raises(SealError):
        unseal(OTHERS, box)


def test_another_key_and_a_changed_box_open_nothing() -> None:
    mine = KeyPair.generate()
    box = seal(mine.public, "hunter2")
    with pytest.raises(SealError):
        unseal(KeyPair.generate(), box)
    for name, value in (("tag", "0" * 64), ("body", "AAAA"), ("key", "1"), ("key", "zz")):
        with pytest.raises(SealError):
            unseal(mine, {"sealed": {**box["sealed"], name: value}})
    with pytest.raises(SealError):
        unseal(mine, {"sealed": "x"})
    for weak in ("0", "1", "no key"):
        with pytest.raises(SealError):
            seal(weak, "x")
