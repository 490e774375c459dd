"""What a log remembers: bounded, filtered and searched; and its lines."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.operations.requests.event_object import EventObject
from runtime.operations.requests.reports import LogRow
from runtime.record.state import events as ev
from screens.render.glyphs import ASCII_GLYPHS
from screens.render.layout import Span, plain_text, span
from screens.views.lists.log import (
    event_lines,
    file_lines,
    read_event,
)
from screens.views.lists.log_buffer import (
    LogBuffer,
    LogLine,
    file_level,
    mark_matches,
)
from screens.views.run.node_names import names_in, place_words
from screens.views.shared.render_context import RenderContext
from screens.views.shared.row_filter import RowFilter
from tests.screens.stories import START, digest

RENDER_CONTEXT = RenderContext(START)


def line(number: int, text: str = "", level: str = "info") -> LogLine:
    return LogLine(str(number), START + timedelta(minutes=number), level, span(text or f"line {number}"))  # type: ignore[arg-type]


def row(event: dict[str, Any], *, at: int = 1, host: str = "") -> tuple[str, LogRow]:
    return host, LogRow(at=at, event=EventObject(event))


@given(st.lists(st.integers(0, 40), max_size=12), st.integers(1, 30), st.booleans())
def test_a_book_keeps_its_bound_and_shows_what_it_means(batches: list[int], kept: int, faults: bool) -> None:
    book = LogBuffer(kept=kept, faults_only=faults)
    everything: list[LogLine] = []
    for size in batches:
        came = [line(n, level="error" if n % 3 else "info") for n in range(len(everything), len(everything) + size)]
        everything += came
        assert book.add(came) == sum(book.passes_filter(each) for each in came[-kept:])
        assert book.lines == everything[-kept:]
        assert book.shown == [each for each in book.lines if book.passes_filter(each)]
        assert book.left_out == len(book.lines) - len(book.shown)


def test_older_lines_come_before_and_only_as_many_as_there_is_room_for() -> None:
    book = LogBuffer(kept=4)
    book.add([line(8), line(9)])
    assert book.add_older([line(number) for number in range(8)]) == 2
    assert [each.key for each in book.shown] == ["6", "7", "8", "9"]
    assert book.add_older([line(1)]) == 0


def test_that_somebody_opened_a_console_is_no_line() -> None:
    looked = ev.OperatorLooked(by=ev.Actor(name="ada"), ts=START)
    assert event_lines([row(ev.event_fields(looked))], RENDER_CONTEXT) == []


def test_matches_are_found_round_and_round_and_times_are_jumped_to() -> None:
    book = LogBuffer()
    book.add([line(number, "odd" if number % 2 else "even") for number in range(6)])
    odd = RowFilter("odd")
    assert [book.find_next(odd, at, 1) for at in (0, 1, 5)] == [1, 3, 1]
    assert [book.find_next(odd, at, -1) for at in (0, 1, 6)] == [5, 5, 5]
    assert book.find_next(RowFilter("nothing"), 0, 1) == -1
    assert LogBuffer().find_next(odd, -1, 1) == -1
    assert book.find_all(odd) == [1, 3, 5]
    assert [book.at_time(1, timedelta(minutes=by)) for by in (2, 99, -1, -99)] == [3, 5, 0, 0]
    assert book.at_time(-1, timedelta(minutes=1)) == -1


def test_what_is_found_stands_out_and_nothing_is_lost() -> None:
    spans = (Span("one two one"), Span("two"))
    shown = mark_matches(spans, RowFilter("one|two"))
    assert plain_text(shown) == plain_text(spans)
    assert [piece.text for piece in shown if piece.bold] == ["one", "two", "one", "two"]
    assert mark_matches(spans, RowFilter("")) == spans
    assert mark_matches(spans, RowFilter("!one")) == spans


def test_lines_of_the_log_file_are_as_grave_as_they_say() -> None:
    text = "2026-11-20 09:00:00,123 WARNING x: hm\n  more\n2026-11-20 09:00:01,000 INFO x: ok\nä\n"
    found = file_lines("", 10, text, RENDER_CONTEXT)
    assert [each.level for each in found] == ["warning", "warning", "info", "info"]
    assert [each.key for each in found] == ["file::10", "file::48", "file::55", "file::90"]
    assert file_level("CRITICAL without a time", "info") == "info"
    assert file_level("2026-11-20 09:00:01,000 CRITICAL x", "info") == "error"


@pytest.mark.parametrize("context", [RENDER_CONTEXT, RenderContext(START, ASCII_GLYPHS)], ids=["unicode", "ascii"])
def test_a_story_is_told_one_line_each_in_clean_words(context: RenderContext) -> None:
    events = digest().events
    rows = [row(ev.event_fields(event), at=event.seq) for event in events]
    lines = event_lines(rows, context)
    assert len(lines) == len(events)
    said = [plain_text(each.spans) for each in lines]
    assert all(each.isprintable() for each in said)
    assert [each.level for each in lines].count("error") == 1
    if context.ascii_only:
        assert all(each.isascii() for each in said)


def test_an_event_of_a_newer_program_is_named_and_several_hosts_are_put_in_order() -> None:
    newer = {"type": "step.teleported", "run_id": "r", "seq": 3, "ts": START.isoformat()}
    (line,) = event_lines([row(newer)], RENDER_CONTEXT)
    assert plain_text(line.spans).endswith("step.teleported")
    unread = EventObject({"type": "node.warned", "seq": 4, "run_id": "r"})
    assert read_event(unread).seq == 4, "an event that cannot be read is kept"
    late, early = (
        ev.event_fields(ev.Warned(text=text, run_id="r", seq=1, ts=START + timedelta(seconds=by)))
        for text, by in (("late", 9), ("early", 1))
    )
    lines = event_lines([row(late, host="a"), row(early, host="b")], RENDER_CONTEXT)
    assert [each.host for each in lines] == ["b", "a"]
    assert "early" in plain_text(lines[0].spans)


def test_names_come_back_from_a_path() -> None:
    assert names_in("swarm~0/we%2Fird%7E%25~1.2/openai:gpt~0") == ("swarm", "we/ird~%", "openai:gpt")
    assert names_in("") == ()
    assert place_words("swarm~0/ann~1", RENDER_CONTEXT, root=False) == "ann"
    assert place_words("swarm~0", RENDER_CONTEXT, root=False) == ""
