"""Fields to type in: what was pasted, or is given to be edited, is shown and never obeyed by the terminal."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual import events
from textual.document._document import Document
from textual.document._wrapped_document import WrappedDocument
from textual.pilot import Pilot
from textual.widget import Widget

from screens.render.sanitize import show_hidden
from screens.views.run.json_lines import editable_json
from screens.widgets.editor import Editor, SecretInput
from screens.widgets.line_input import LineInput
from screens.widgets.painted_document import PaintedDocument
from screens.widgets.pattern_input import PatternInput
from tests.screens.views.story_views import HOSTILE, payload
from tests.screens.waiting import until
from tests.screens.widgets.test_live_widgets import Stage, screen_text

FOUL = "a\x00\x1b[2Jb\x9b31mc\u202ed\u200b\ud800e\U000e0041f\u2028👩\u200d💻🏿g\x7f"
ANY_TEXT = st.text(st.characters(), max_size=80)


def is_shown(text: str) -> bool:
    return all(unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for char in text)


async def pasted(pilot: Pilot[Any], widget: Widget, text: str) -> str:
    """What the screen shows once a text was pasted and an `x` typed behind it."""
    widget.focus()
    await until(pilot, lambda: widget.has_focus)
    widget.post_message(events.Paste(text))
    await pilot.press("x")
    await pilot.pause()
    return "".join(screen_text(pilot.app))


FIELDS = {
    "editor": Editor,
    "line": LineInput,
    "pattern": lambda: PatternInput("", lambda _: None, lambda: None),
    "secret": SecretInput,
}


@pytest.mark.parametrize("made", FIELDS.values(), ids=FIELDS)
async def test_what_was_pasted_is_shown_and_stays_what_it_is(made: Any) -> None:
    field = made()
    async with Stage(field).run_test(size=(60, 8)) as pilot:
        shown = await pasted(pilot, field, FOUL)
        assert is_shown(shown)
        assert isinstance(field, SecretInput) or "a␀␛[2Jb�31mc�d��e�f" in shown
        kept = field.text if isinstance(field, Editor) else field.value
        assert kept.replace("\n", "").startswith("a\x00\x1b[2Jb\x9b31mc\u202e")
        assert kept.endswith("x")


@pytest.mark.parametrize("found", HOSTILE, ids=lambda found: found["id"])
async def test_what_is_given_to_be_edited_is_shown(found: dict[str, Any]) -> None:
    field = Editor()
    async with Stage(field).run_test(size=(60, 8)) as pilot:
        field.begin(payload(found)[:5_000], single=False)
        await pilot.pause()
        assert is_shown("".join(screen_text(pilot.app)))


WITHOUT_CELLS = {"controls": "\x1b", "blanks of no width": "\u200b", "tags": "\U000e0041", "marks": "\u0301"}


@pytest.mark.parametrize("char", WITHOUT_CELLS.values(), ids=WITHOUT_CELLS)
async def test_what_stands_behind_characters_without_width_is_in_sight(char: str) -> None:
    field = Editor()
    async with Stage(field).run_test(size=(40, 10)) as pilot:
        field.begin(char * 60 + "DROP TABLE orders", single=False)
        await until(pilot, lambda: "orders" in "".join(screen_text(pilot.app)))
        rows = screen_text(pilot.app)
        painted = "".join(row.strip(" │╭─╮╰╯") for row in rows)
        assert painted.replace(" ", "") == show_hidden(char * 60 + "DROP TABLE orders").replace(" ", "")
        assert "orders " in rows[field.cursor_screen_offset.y]
        assert rows[field.cursor_screen_offset.y].index("orders") + 6 == field.cursor_screen_offset.x
        await pilot.press("backspace")
        assert field.text == char * 60 + "DROP TABLE order"


@pytest.mark.parametrize("char", [*WITHOUT_CELLS.values(), "\t"], ids=[*WITHOUT_CELLS, "tabs"])
async def test_one_line_scrolls_to_what_stands_behind_characters_without_width(char: str) -> None:
    field = LineInput(compact=True)
    async with Stage(field).run_test(size=(40, 10)) as pilot:
        field.focus()
        field.value = char * 60 + "DROP TABLE orders"
        await pilot.press("home", "end")
        await until(pilot, lambda: "orders" in "".join(screen_text(pilot.app)))
        row = screen_text(pilot.app)[field.cursor_screen_offset.y]
        shown_to = cell_len(row[: row.index("orders")]) + len("orders")
        assert field.cursor_screen_offset.x == shown_to + 1, "Textual's is one more for each input (8.2.8)"
        await pilot.click(field, offset=(cell_len(row[: row.index("DROP")]), 0))
        assert field.value[field.cursor_position :] == "DROP TABLE orders"
        await pilot.press("home")
        await pilot.pause()
        assert screen_text(pilot.app)[0][0] == (show_hidden(char)[0] if char != "\t" else "␉")


EDITS = st.lists(st.tuples(st.integers(), st.integers(), ANY_TEXT), max_size=3)


@given(ANY_TEXT, EDITS, st.integers(8, 40))
def test_a_text_area_wraps_what_it_paints_and_keeps_the_text(
    text: str, edits: list[tuple[int, int, str]], width: int
) -> None:
    painted, plain = PaintedDocument(text), Document(text)
    wrapped = WrappedDocument(painted, width)
    for start, end, inserted in edits:
        size = len(plain.text) + 1
        at = plain.get_location_from_index(start % size), plain.get_location_from_index(end % size)
        done = painted.replace_range(*at, inserted)
        assert done == plain.replace_range(*at, inserted)
        wrapped.wrap_range(min(at), max(at), done.end_location)
    assert painted.text == plain.text
    assert painted.lines == list(map(show_hidden, plain.lines))
    assert ["".join(sections) for sections in wrapped.lines] == painted.lines
    rows = [row for sections in wrapped.lines for row in sections]
    assert all(cell_len(row.rstrip()) <= width for row in rows if "\t" not in row)


@given(ANY_TEXT)
def test_each_character_keeps_its_place(text: str) -> None:
    line = text.replace("\n", " ")
    shown = show_hidden(line)
    assert len(shown) == len(line)
    assert is_shown(shown.replace("\t", " "))
    assert cell_len(shown) == sum(map(cell_len, shown)), "columns do not depend on what stands beside a character"


def test_ordinary_text_is_left_alone() -> None:
    for text in ("plain [b]text[/]", "Grüße, 世界, नमस्ते", "a\tb"):
        assert show_hidden(text) == text


@given(st.recursive(ANY_TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3)))
def test_json_to_be_edited_hides_nothing_and_stays_the_same_value(value: Any) -> None:
    text = editable_json(value)
    assert is_shown(text.replace("\n", ""))
    assert json.loads(text) == value


def test_json_to_be_edited_is_readable() -> None:
    assert editable_json({"text": "Grüße 世界 \x9b\u202e\U000e0041"}) == (
        '{\n  "text": "Grüße 世界 \\u009b\\u202e\\udb40\\udc41"\n}'
    )
