"""The chain of causes that an incident shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import msgspec
import pytest

from orbiter.steps import Aborted
from runtime.execution.durable_scope import DurableScope
from runtime.execution.failures.kept_text import kept_error
from runtime.execution.incidents import error_chain
from runtime.execution.node_faults import answer_for_body
from runtime.execution.secret_vault import VAULT
from runtime.judgement.faults.classify import classify
from runtime.judgement.faults.evidence import MAX_TEXT
from tests.runtime.bench import ME, Bench

LONG = """
from orbiter import Agent, ParallelGroup, tool
from orbiter.hooks import HookPoint
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply
def fail(*args, **told):
    raise OSError({said})
class Own(Agent):
    run = fail
script("long/calls", [Reply(calls=[Call("refuse")]), "done"])
refuse = tool(failure="fail", name="refuse")(fail)
step = Agent(name="a", model="scripted:long/calls", tools=[refuse])
hook = Agent(name="a", model="scripted:long/calls", hooks=[(HookPoint.START, fail)])
own = Own(name="a", model="scripted:long/calls")
group = ParallelGroup(name="g", agents=[own, Agent(name="b", model="scripted:long/calls")], join="first_success")
script("long/asks", [Reply(calls=[Call("write", {"text": {said}})]), "done"])
@tool(permissions=["write"])
def write(text: str) -> str:
    return text
asks = Agent(name="a", model="scripted:long/asks", tools=[write])
script("long/says", [{said}])
says = Agent(name="a", model="scripted:long/says")
"""


def test_it_is_the_chain_of_the_traceback_each_text_once_in_a_row() -> None:
    assert error_chain(None) == []
    try:
        try:
            try:
                raise KeyError("cut off")
            except KeyError:
                raise OSError("disk") from None
        except OSError as exc:
            raise OSError("disk") from exc
    except OSError as exc:
        outer = ExceptionGroup("two", [ValueError("one"), ValueError("other")])
        outer.__cause__ = exc
    assert error_chain(outer) == [
        "ExceptionGroup: two (2 sub-exceptions)",
        "ValueError: one",
        "ValueError: other",
        "OSError: disk",
    ]


def test_it_is_bounded_in_links_and_in_characters() -> None:
    found = error_chain(ExceptionGroup("many", [ValueError(f"{number}" * 2000) for number in range(100)]))
    assert len(found) == 12
    assert max(map(len, found)) == 500


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(each)


@pytest.mark.parametrize("name", ["step", "hook", "own", "group"])
@pytest.mark.parametrize("answer", ["abort", ""])
async def test_a_text_of_any_length_is_shortened_wherever_an_error_is_told(
    bench: Bench, name: str, answer: str
) -> None:
    (bench.root / "long.py").write_text(LONG.replace("{said}", '"x" * 300_000'))
    async with bench.driving(enable_error_routing=bool(answer)):
        run_id = await bench.decisions.start(f"long.py:{name}", "go", by=ME)
        if answer and name != "group":
            (incident,) = await bench.incidents(run_id)
            assert re.search(r"x… \(300,0\d\d characters\)$", incident.opened.message)
            await bench.answer(incident, answer)
        await bench.ended(run_id)
    told = [msgspec.to_builtins(each) for each in await bench.journal.read(run_id)]
    lengths = [
        len(text) for event in told for name, value in event.items() if name != "result" for text in _texts(value)
    ]
    assert MAX_TEXT < max(lengths) < 2 * MAX_TEXT


SECRET = "hunter2-correct-horse-bat-staple"


@pytest.mark.parametrize("name", ["step", "hook", "own", "group", "asks", "says"])
@pytest.mark.parametrize("answer", ["abort", ""])
async def test_a_secret_on_the_cut_of_a_text_is_not_journaled_in_part(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, name: str, answer: str
) -> None:
    monkeypatch.setitem(VAULT._known, SECRET, None)
    said = f"{SECRET} " * 5_000  # wherever it is cut
    (bench.root / "long.py").write_text(LONG.replace("{said}", repr(said)))
    async with bench.driving(enable_error_routing=bool(answer)):
        run_id = await bench.decisions.start(f"long.py:{name}", said, by=ME)
        if answer and name not in {"group", "says"}:
            (incident,) = await bench.incidents(run_id)
            await bench.answer(incident, "deny" if name == "asks" else answer)
        await bench.ended(run_id)
    written = [msgspec.to_builtins(each) for each in await bench.journal.read(run_id) if each.type != "run.created"]
    pieces = {SECRET[at : at + 5] for at in range(len(SECRET) - 4)}
    assert not [
        (event["type"], piece) for event in written for text in _texts(event) for piece in pieces if piece in text
    ]


def test_a_secret_on_the_cut_is_not_in_what_a_fault_says() -> None:
    class Failed(OSError):
        context: ClassVar = {"told": f"{SECRET} " * 5_000}
        body = f"{SECRET} " * 5_000

    for problem in (Failed(f"{SECRET} " * 5_000), Failed(), OSError(SECRET * 5_000)):
        assert "hunter" not in repr(classify(problem, secrets=(SECRET,)))


@pytest.mark.parametrize("kept", ["w" * 5_000, "w" * MAX_TEXT + "… (5,000 characters)"])
def test_a_warning_is_noted_once_also_where_an_earlier_version_kept_it_whole(kept: str) -> None:
    noted: list[Any] = []
    session: Any = SimpleNamespace(state=SimpleNamespace(nodes={"n": SimpleNamespace(warnings=[kept])}))
    session.record_soon = noted.append
    scope = DurableScope(session, "n", "agent", "n")
    scope.warn("w" * 5_000)
    assert not noted
    scope.warn("w" * 6_000)
    assert [event.text[-20:] for event in noted] == ["… (6,000 characters)"]


def test_what_a_person_took_note_of_is_shortened_once() -> None:
    answer: Any = SimpleNamespace(params={}, option="acknowledge")
    with pytest.raises(Aborted) as aborted:
        answer_for_body(SimpleNamespace(), answer, OSError("x" * 300_000))  # type: ignore[arg-type] # not asked
    assert kept_error(aborted.value).endswith("x… (300,000 characters)")
