"""Typed requests over a real link: what is wrong is refused, and the runtime goes on."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest

from runtime.link.client.client import CommandRefused, LinkError
from runtime.operations.requests.answers import PreviewGrant
from runtime.operations.requests.runs import ListRuns, RunState
from runtime.operations.requests.struct import Request
from tests.runtime.link.link_bench import Bench


async def test_hostile_fields_over_the_link_are_refused_and_the_runtime_goes_on(bench: Bench) -> None:
    await bench.started()
    await bench.serve()
    console = await bench.console()
    deep: Any = "x"
    for _ in range(60):
        deep = [deep]
    for verb, args in (
        ("abort", {"run_id": deep}),
        ("runs", {"limit": 10**30}),
        ("answer", {"incident_id": "i", "option": "edit", "params": "no object"}),
        ("audit", {"since": "never"}),
    ):
        with pytest.raises(CommandRefused) as caught:
            await console.command(verb, **args)
        assert caught.value.error == "bad_input"
        assert str(caught.value).startswith(f"{verb}: ")
    assert [row.id for row in await console.ask(ListRuns())] == ["run-1"]
    with pytest.raises(LinkError, match="the id nope must be that of one incident"):
        await console.ask(PreviewGrant(incident_id="nope"))


async def test_an_answer_that_cannot_be_read_says_which_versions_meet(bench: Bench) -> None:
    class OldRuns(Request[RunState], frozen=True):
        """Expects something else."""

        verb: ClassVar[str] = "runs"

    await bench.started()
    await bench.serve()
    console = await bench.console()
    with pytest.raises(LinkError, match=r"to 'runs' cannot be read: Expected `object`, got `array`"):
        await console.ask(OldRuns())
