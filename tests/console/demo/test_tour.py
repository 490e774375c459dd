"""The tour of the demo: its words at each step, its rows in the console, and the catalogue that comes back."""

from __future__ import annotations

import socket
import urllib.error
import urllib.request

import pytest

from console.app.app import OrbiterApp
from console.demo import tour
from console.demo.catalogue import COMES_BACK_AFTER, free_urls, note_refused, start_catalogue, stop_catalogue
from console.demo.tools import fetch_index
from console.preferences.schema import Preferences
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from runtime.record.state.fault_taxonomy import Cause, Classification, Origin, Persistence
from screens.shell.context import ConsoleContext
from tests.console.app.console_bench import console, redrawn, settled, text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import digest, finished
from tests.screens.waiting import press, until

FAULT = Classification(origin=Origin.TOOL, cause=Cause.NETWORK, persistence=Persistence.UNKNOWN)


def opened(number: int, *lineage: str, **facts: object) -> ev.IncidentOpened:
    return ev.IncidentOpened(incident_id=f"i{number}", node_id=lineage[-1], fault=FAULT, lineage=lineage, **facts)  # type: ignore[arg-type]  # facts of any type


def answered(number: int, option: str = "retry") -> ev.IncidentAnswered:
    return ev.IncidentAnswered(incident_id=f"i{number}", revision=1, option=option)


def demo(*events: ev.JournalEvent) -> DurableRun:
    created = ev.RunCreated(run_id="r", ref="console.demo.swarm:swarm", title="demo")
    return fold_events([created, ev.RunStarted(epoch=1), *events])


def test_each_step_says_what_to_try() -> None:
    model = opened(1, "reader", "demo-reader", action={"model": "scripted:demo-reader"})
    index = opened(2, "librarian", "fetch_index", action={"tool": "fetch_index"})
    again = opened(3, "librarian", "fetch_index", action={"tool": "fetch_index"})
    other = opened(6, "librarian", "fetch_index", action={"tool": "fetch_index"})
    question = opened(4, "reporter", "ask_reader", question="For whom?")
    wish = opened(5, "reporter", "write_report", action={"permission": {"verb": "fs.write"}})
    assert tour.tour_text(demo(), "") == tour.START
    assert tour.tour_text(demo(model), "i1") == f"1 of 4: {tour.MODEL}"
    assert tour.tour_text(demo(model, answered(1)), "") == tour.GOES_ON
    assert tour.tour_text(demo(index), "i2") == f"1 of 4: {tour.INDEX}"
    assert tour.tour_text(demo(index, other, model), "i1") == f"2 of 4: {tour.MODEL}", "by the order in which they came"
    assert tour.tour_text(demo(index, answered(2), again), "i3") == tour.INDEX_AGAIN
    assert tour.tour_text(demo(index, other, answered(2), again), "i3") == tour.INDEX_BOTH
    assert tour.tour_text(demo(index, other, answered(2), again), "i6") == tour.INDEX_BOTH
    assert tour.tour_text(demo(index, answered(2, "skip")), "") == tour.SKIPPED
    left = tour.tour_text(demo(index, other, answered(2, "skip")), "i6")
    assert left == f"1 of 4: {tour.INDEX_LEFT}", "of two calls one is skipped"
    assert tour.tour_text(demo(model, question), "i4") == f"2 of 4: {tour.QUESTION}"
    assert tour.tour_text(demo(wish), "") == f"1 of 4: {tour.PERMISSION}"
    assert "report is in" in tour.tour_text(demo(ev.RunFinished(state="completed")), "")
    assert tour.tour_text(demo(ev.RunFinished(state="aborted")), "") == tour.ENDED
    over = ev.RunFinished(state="completed")
    for option in ("deny", "skip", "result"):
        assert tour.tour_text(demo(wish, answered(5, option), over), "") == tour.UNWRITTEN, "no report, and it says so"
    assert "report is in" in tour.tour_text(demo(wish, answered(5, "grant"), over), "")
    assert not tour.tour_text(finished().state, ""), "only the demo has a tour"


def test_the_catalogue_comes_back_after_the_first_retry_by_hand() -> None:
    url, other = free_urls()
    try:
        for _ in range(COMES_BACK_AFTER):
            with pytest.raises(urllib.error.URLError):
                fetch_index(url)
        assert "orbiter" in fetch_index(url)
        assert "Hamilton" in fetch_index(other), "one service has both"
    finally:
        stop_catalogue(url)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(url, timeout=5)


def test_a_port_that_is_taken_by_then_stays_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/projects.json"
        for _ in range(COMES_BACK_AFTER + 1):
            note_refused(url)
        assert not start_catalogue(url)


async def test_the_tour_stands_on_the_run_and_can_be_hidden() -> None:
    story = digest()
    story.state.ref = "console.demo.swarm:swarm"
    async with console(story, run_id="run-1", size=(100, 40)) as (pilot, _):
        await until(pilot, lambda: "1 of 4: a tool wants to write" in text_of(pilot))
        await press(pilot, "ctrl+g", then=lambda: "1 of 4" not in text_of(pilot))
        await press(pilot, "ctrl+g", then="1 of 4")
        await redrawn(pilot)


async def test_without_a_guide_the_run_has_no_words_of_the_tour() -> None:
    story = digest()
    story.state.ref = "console.demo.swarm:swarm"
    link = MemoryLink(story)
    session = ConsoleContext(link, clock=lambda: link.now)
    app = OrbiterApp(session, run_id="run-1", preferences=Preferences(guide=False))
    async with app.run_test(size=(100, 40)) as pilot:
        await settled(pilot)
        assert "1 of 4" not in text_of(pilot)
