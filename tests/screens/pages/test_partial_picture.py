"""While parts of the first picture are missing: what there is can be worked with, and nothing claims to be all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from runtime.link.client.client import LinkClient, PictureProgress
from runtime.link.server import picture_parts
from runtime.link.transports.handshake import HandshakeResult
from runtime.link.transports.transport import UnixTransport
from screens.dialogs.batch_action import BatchActionScreen
from screens.dialogs.bulk_answer import BulkAnswerScreen
from screens.pages.inbox import InboxScreen
from screens.pages.swarms import SwarmsScreen
from screens.shell.context import ConsoleContext
from screens.views.lists.inbox import inbox_rows
from screens.views.shared.picture_progress import progress_text
from screens.views.shared.render_context import RenderContext
from tests.runtime.link.link_bench import Bench
from tests.screens.lonely import Lonely, line_with, showing, text_of
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import START, digest, finished, limited, summaries_of, waiting_of
from tests.screens.waiting import changed, drawn, press, until

PART = PictureProgress(2, 10_000, 2, 300)
WAITS = "waits until all is loaded"


def listing(pilot: Pilot[None]) -> list[str]:
    return list(pilot.app.screen.row_list.keys)  # type: ignore[attr-defined]


async def partial(pilot: Pilot[None], link: MemoryLink, told: PictureProgress = PART) -> None:
    link.loading = {"": told}
    await changed(pilot, link, then="loaded")


def test_how_much_is_there_in_words() -> None:
    assert progress_text({}, 5, 5) == ""
    assert progress_text({"": PART}, 2, 2) == "2 of 10,000 runs, 2 of 300 decisions loaded"
    assert progress_text({"": PictureProgress(9, 9, 40, 2000)}, 9, 40) == "40 of 2,000 decisions loaded"
    two = {"left": PART, "right": PictureProgress(8, 8, 0, 0)}
    assert progress_text(two, 12, 3) == "12 of 10,010 runs, 3 of 301 decisions loaded", "with those of other hosts"


async def test_the_top_line_says_how_much_is_there_and_counts_are_marked() -> None:
    async with showing(InboxScreen, limited(1), limited(2), finished(), size=(120, 30)) as (pilot, link):
        assert "2 decisions" in text_of(pilot).splitlines()[0]
        await partial(pilot, link)
        text = text_of(pilot)
        assert "2 decisions" not in text.splitlines()[0]
        assert "3 of 10,001 runs, 2 of 300 decisions loaded" in text.splitlines()[0]
        assert "Needs a decision  2+" in text
        assert "2+ alike" in text
        assert "Done  1+" in text
        link.loading = {}
        await changed(pilot, link, then=lambda: "loaded" not in text_of(pilot))
        assert line_with(pilot, "Needs a decision").split()[-1] == "2"
        assert "2 alike" in text_of(pilot)


def test_a_run_whose_decision_is_still_to_come_is_not_said_to_work() -> None:
    context = RenderContext(START)
    summaries = summaries_of(limited(1), limited(2))
    summaries = {key: replace(found, state="waiting") for key, found in summaries.items()}
    waiting = waiting_of(limited(1))
    assert "heading:Working" in [row.key for row in inbox_rows(summaries, waiting, context)]
    assert "heading:Working" not in [
        row.key for row in inbox_rows(summaries, waiting, RenderContext(START, partial=True))
    ]


async def test_the_table_by_swarm_marks_its_counts_too() -> None:
    async with showing(SwarmsScreen, limited(1), limited(2), size=(120, 30)) as (pilot, link):
        await partial(pilot, link)
        assert "2+ runs" in text_of(pilot)
        assert "2+ decisions" in text_of(pilot)


@pytest.mark.parametrize("screen", [InboxScreen, SwarmsScreen])
async def test_an_empty_list_claims_nothing_while_parts_are_missing(screen: Callable[..., InboxScreen]) -> None:
    async with showing(screen) as (pilot, link):
        assert "No runs yet" in text_of(pilot)
        await partial(pilot, link, PictureProgress(0, 7, 0, 0))
        assert "No runs yet" not in text_of(pilot)
        assert "Nothing of what is loaded so far belongs here" in text_of(pilot)


async def test_no_decision_is_said_of_what_is_loaded_only() -> None:
    async with showing(InboxScreen, finished()) as (pilot, link):
        await press(pilot, "n", then="No decision is waiting.")
        await partial(pilot, link)
        await press(pilot, "n", then="No decision is waiting so far, of what is loaded.")
        await press(pilot, "slash", "z", "z", "z", then="Nothing of what is loaded matches.")


async def test_what_comes_in_later_parts_is_not_marked_as_new() -> None:
    async with showing(InboxScreen, limited(1)) as (pilot, link):
        rows = pilot.app.screen.row_list  # type: ignore[attr-defined]
        await partial(pilot, link)
        pilot.app.screen.listing._seen = None  # type: ignore[attr-defined]
        link.stories["run-9"] = limited(9, fingerprint="other")
        await changed(pilot, link, then=lambda: "incident:run-9-inc-1" in listing(pilot))
        assert rows._fresh == frozenset()
        link.loading = {}
        await changed(pilot, link, then=lambda: "loaded" not in text_of(pilot))
        assert rows._fresh == frozenset()


async def test_a_bulk_answer_waits_for_the_whole_picture() -> None:
    async with showing(InboxScreen, limited(1), limited(2)) as (pilot, link):
        await partial(pilot, link)
        await press(pilot, "home", "B", then=WAITS)
        assert not isinstance(pilot.app.screen, BulkAnswerScreen)
        assert link.said == []
        link.loading = {}
        link.stories["run-3"] = limited(3)
        # What was said holds no more.
        await changed(pilot, link, then=lambda: "3 alike" in text_of(pilot) and WAITS not in text_of(pilot))
        await press(pilot, "home", "B", then=BulkAnswerScreen)


async def test_all_that_is_shown_is_selected_only_when_all_is_there() -> None:
    async with showing(InboxScreen, digest(), finished()) as (pilot, link):
        await partial(pilot, link)
        await press(pilot, "ctrl+a", then=WAITS)
        assert "selected" not in text_of(pilot)
        await press(pilot, "space", then="1 selected")
        link.loading = {}
        await changed(pilot, link, then=lambda: "loaded" not in text_of(pilot))
        await press(pilot, "ctrl+a", then=lambda: "selected" in text_of(pilot))


async def test_a_line_that_stands_for_many_is_acted_on_when_all_is_there_and_one_run_at_once() -> None:
    async with showing(SwarmsScreen, digest(), limited(2)) as (pilot, link):
        await partial(pilot, link)
        await press(pilot, "home", "A", then=WAITS)
        await press(pilot, "down", "A", then=BatchActionScreen)
        await pilot.press("escape")
        await until(pilot, SwarmsScreen)
        link.loading = {}
        await changed(pilot, link, then=lambda: "loaded" not in text_of(pilot))
        await press(pilot, "home", "A", then=BatchActionScreen)


async def test_a_screen_that_was_covered_comes_back_with_what_is_known_by_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with showing(InboxScreen, limited(1), limited(2), finished(), size=(120, 30)) as (pilot, link):
        await partial(pilot, link)
        inbox = pilot.app.screen
        assert isinstance(inbox, InboxScreen)
        pilot.app.push_screen(SwarmsScreen(inbox.session))
        await until(pilot, SwarmsScreen)
        await drawn(pilot)
        link.stories["run-9"] = limited(9, fingerprint="other")
        link.loading = {}
        await changed(pilot, link, then=lambda: "loaded" not in text_of(pilot))
        monkeypatch.setattr(inbox.pace, "request", lambda: None)  # in time for a later frame only
        pilot.app.pop_screen()
        await until(pilot, InboxScreen)
        await pilot.pause()
        assert "3 decisions" in text_of(pilot).splitlines()[0]
        assert "loaded" not in text_of(pilot)
        assert line_with(pilot, "Needs a decision").split()[-1] == "3"


# -- over a real link ------------------------------------------------------------------------------------------------


async def test_the_first_rows_are_drawn_before_the_last_part_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(picture_parts, "ROWS_PER_PART", 2)
    monkeypatch.setattr(picture_parts, "SCREENFUL", 3)
    acknowledge = HandshakeResult.acknowledge
    monkeypatch.setattr(HandshakeResult, "acknowledge", lambda _session: None)
    bench = Bench(tmp_path / ".orbiter")
    for number in range(12):
        driver = await bench.started(f"run-{number:02}", title=f"task {number}")
        await driver.incident(f"i-{number:02}", fingerprint="same" if number < 6 else "")
    await bench.serve(window=2)
    link = LinkClient(UnixTransport(bench.state_dir))
    app = Lonely(InboxScreen(ConsoleContext(link, arm_after=0.0)), begin=link.start)
    try:
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, "6 of 12 runs, 3 of 12 decisions loaded")
            assert "2+ alike" in text_of(pilot)
            assert not link.whole
            await press(pilot, "home", "B", then=WAITS)
            await bench.started("run-12", title="task 12")  # behind the picture, which it comes after
            monkeypatch.setattr(HandshakeResult, "acknowledge", acknowledge)
            assert link.connection.receiver is not None
            link.connection.receiver.session.acknowledge()
            await until(pilot, lambda: link.whole and "run-12" in link.summaries)
            await until(pilot, ("6 alike", "task 12"))
            assert "loaded" not in text_of(pilot)
            assert list(link.summaries) == [f"run-{number:02}" for number in range(13)]
            await drawn(pilot)
            await press(pilot, "home", "B", then=BulkAnswerScreen)
    finally:
        await link.close()
        await bench.close()
