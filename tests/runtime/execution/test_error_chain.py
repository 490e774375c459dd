"""The chain of causes that an incident shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from runtime.execution.incidents import error_chain
from runtime.judgement.faults.evidence import MAX_TEXT
from tests.runtime.bench import ME, Bench

LONG = """
from orbiter import Agent, ParallelGroup, tool
from orbiter.hooks import HookPoint
from orbiter.models.scripted.provider import script
from orbiter.models.scripted.replies import Call, Reply
def fail(*args, **told):
    raise OSError("x" * 300_000)
class Own(Agent):
    run = fail
script("long/calls", [Reply(calls=[Call("refuse")]), "done"])
refuse = tool(failure="fail", name="refuse")(fail)
step = Agent(name="a", model="scripted:long/calls", tools=[refuse])
hook = Agent(name="a", model="scripted:long/calls", hooks=[(HookPoint.START, fail)])
own = Own(name="a", model="scripted:long/calls")
group = ParallelGroup(name="g", agents=[own, Agent(name="b", model="scripted:long/calls")], join="first_success")
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
@pytest.mark.parametrize("attended", [True, False])
async def test_a_text_of_any_length_is_shortened_wherever_an_error_is_told(
    bench: Bench, name: str, attended: bool
) -> None:
    (bench.root / "long.py").write_text(LONG)
    async with bench.driving(enable_error_routing=attended):
        run_id = await bench.decisions.start(f"long.py:{name}", "go", by=ME)
        if attended and name != "group":
            (incident,) = await bench.incidents(run_id)
            assert re.search(r"x… \(300,0\d\d characters\)$", incident.opened.message)
            await bench.answer(incident, "abort")
        await bench.ended(run_id)
    told = [msgspec.to_builtins(each) for each in await bench.journal.read(run_id)]
    lengths = [
        len(text) for event in told for name, value in event.items() if name != "result" for text in _texts(value)
    ]
    assert MAX_TEXT < max(lengths) < 2 * MAX_TEXT
