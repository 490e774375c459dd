"""The gate for foreign text: the payloads that were seen in the wild, and properties over whatever there is."""

from __future__ import annotations

import json
import re
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from screens.render.sanitize import (
    MAX_CHARS,
    MAX_COMBINING_MARKS,
    MAX_LINE_CHARS,
    MAX_LINES,
    sanitize_line,
    sanitize_text,
)

DATA = Path(__file__).parents[2] / "data"
PAYLOADS: list[dict[str, Any]] = json.loads((DATA / "hostile-text.json").read_text())["payloads"]

ANY_TEXT = st.text(st.characters(), max_size=300)  # surrogates and unassigned characters included
HOSTILE = st.text(
    st.sampled_from(
        "ab [/]\t\n\r\x00\x07\x1b\x7f\x9b\x85\u00ad\u0301\u0489\u034f\u061c\u115f\u180e\u200b\u200d\u202e\u2066\u2028"
        "\u2800\u3164\ufe0f\ufe00\ufeff\ufffb\ud800\udce9\ue000\uffff⚠1\u20e3é漢"
        "\u1100\u1161\u11a8\ud7b0\U0001f1e9\U0001f1ea\U0001f469\U0001f3fb\U000e0041\U000e0100\U0010fffd"
    ),
    max_size=200,
)


def text_of(payload: dict[str, Any]) -> str:
    if "text" in payload:
        return str(payload["text"])
    return str(payload["unit"]) * int(payload["repeat"]) + str(payload["tail"])


def is_dangerous(char: str) -> bool:
    """Independent of the implementation's table: asks the Unicode database."""
    if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}:
        return True
    named = unicodedata.name(char, "")
    return any(word in named for word in ("VARIATION SELECTOR", "FILLER", "GRAPHEME JOINER", "BRAILLE PATTERN BLANK"))


def longest_run_without_cells(text: str) -> int:
    """Marks, and whatever else is drawn over the character before it, by what columns are counted with."""
    longest = run = 0
    for char in text:
        run = run + 1 if cell_len(char) == 0 else 0
        longest = max(longest, run)
    return longest


def assert_safe(shown: str, *, allowed: str = "\n") -> None:
    assert [hex(ord(char)) for char in shown if is_dangerous(char) and char not in allowed] == []
    assert longest_run_without_cells(shown.replace("\n", "x")) <= MAX_COMBINING_MARKS
    for row in shown.split("\n"):
        assert not row or cell_len(row[0]) > 0
    shown.encode("utf-8")


@pytest.mark.parametrize("payload", PAYLOADS, ids=lambda payload: str(payload["id"]))
def test_a_payload_seen_in_the_wild_is_defused_and_still_readable(payload: dict[str, Any]) -> None:
    raw = text_of(payload)
    for shown in (sanitize_text(raw), sanitize_line(raw), sanitize_line(raw, limit=20)):
        assert_safe(shown)
        assert not any(re.search(leak, shown) for leak in payload["leak"])
    assert len(sanitize_text(raw)) <= MAX_CHARS
    assert max(map(len, sanitize_text(raw).split("\n"))) <= MAX_LINE_CHARS
    assert str(payload["literal"]) in sanitize_text(raw)
    assert sanitize_text(raw, ascii_only=True).isascii()


@given(st.one_of(ANY_TEXT, HOSTILE))
@example("\u0301" * 30)
@example("a\n\u0301")
@example("👩\ufe0f\u200d👩\u200d")
@example("\r\n\r")
def test_nothing_dangerous_survives_and_cleaning_again_changes_nothing(raw: str) -> None:
    for shown in (sanitize_text(raw), sanitize_text(raw, size=128, line=40, lines=3)):
        assert_safe(shown)
        assert sanitize_text(shown) == shown
    assert sanitize_text(sanitize_text(raw, size=128, line=40, lines=3), size=128, line=40, lines=3) == sanitize_text(
        raw, size=128, line=40, lines=3
    )


@given(st.one_of(ANY_TEXT, HOSTILE), st.integers(1, 300))
def test_one_line_stays_one_line_within_its_limit(raw: str, limit: int) -> None:
    shown = sanitize_line(raw, limit=limit)
    assert_safe(shown, allowed="")
    assert len(shown) <= limit
    assert sanitize_line(shown, limit=limit) == shown


@given(st.one_of(ANY_TEXT, HOSTILE), st.integers(128, 400), st.integers(1, 400), st.integers(1, 20))
def test_size_line_and_number_of_lines_are_bounded(raw: str, size: int, line: int, lines: int) -> None:
    shown = sanitize_text(raw, size=size, line=line, lines=lines)
    rows = shown.split("\n")
    assert len(shown) <= size
    assert len(rows) <= lines
    assert max(map(len, rows[:-1]), default=0) <= line
    if line >= 64:  # below, the last line, which tells what was cut, may itself be longer
        assert max(map(len, rows)) <= line
        assert sanitize_text(shown, size=size, line=line, lines=lines) == shown


@given(st.one_of(ANY_TEXT, HOSTILE))
def test_ascii_mode_is_printable_ascii(raw: str) -> None:
    shown = sanitize_text(raw, ascii_only=True)
    assert shown.isascii()
    assert shown.replace("\n", "").isprintable()
    assert sanitize_text(shown, ascii_only=True) == shown


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=200))
def test_ordinary_text_is_left_alone(raw: str) -> None:
    assert sanitize_text(raw) == raw
    assert sanitize_line(raw) == raw


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("a\x1b[2Jb", "a␛[2Jb"),
        ("a\x9b2J", "a⟨U+009B⟩2J"),
        ("file \u202egnp.exe", "file ⟨U+202E⟩gnp.exe"),
        ("a\x7f", "a␡"),
        ("one\r\ntwo\rthree", "one\ntwo␍three"),
        ("a\tb", "a   b"),
        ("e" + "\u0301" * 9, "e" + "\u0301" * 4 + "⟨+5 marks⟩"),
        ("\u0301", "◌\u0301"),
        ("Grüße, 世界, नमस्ते", "Grüße, 世界, नमस्ते"),
        ("👩\u200d💻 ok ⚠\ufe0f", "👩💻 ok ⚠"),
        ("1\ufe0f\u20e3 first", "1\u20e3 first"),
        ("a\u200db", "a⟨U+200D⟩b"),
        ("👍🏽 👩🏽\u200d💻", "👍 👩💻"),
        ("a🏿 👍🏿🏿", "a⟨U+1F3FF⟩ 👍⟨U+1F3FF⟩"),
        ("🇩🇪🇫🇷🇩 x🇩y", "🇩🇪🇫🇷⟨U+1F1E9⟩ x⟨U+1F1E9⟩y"),
        ("\u1112\u1161\u11ab", "\u1112\u1161\u11ab"),
        ("a" + "\u1161" * 9, "a" + "\u1161" * 4 + "⟨+5 marks⟩"),
        ("bad\ud800end", "bad⟨U+D800⟩end"),
    ],
)
def test_what_is_shown_instead(raw: str, shown: str) -> None:
    assert sanitize_text(raw) == shown


def test_a_line_break_is_shown_in_one_line() -> None:
    assert sanitize_line("a\nb") == "a⏎b"


def test_tabs_stay_where_asked() -> None:
    assert sanitize_text("a\tb", keep_tabs=True) == "a\tb"


def test_ascii_mode_spells_out() -> None:
    assert sanitize_text("“Grün” \x1b[0m → ok", ascii_only=True) == '"Gr<U+00FC>n" ^[[0m -> ok'


def test_cuts_say_how_much_they_took() -> None:
    assert sanitize_line("x" * 1_000, limit=200).endswith("x… ⟨864 more characters⟩")
    assert sanitize_text("x" * 200_000).endswith(f"… ⟨{200_000 - MAX_LINE_CHARS + 64} more characters⟩")
    many = sanitize_text("row\n" * 10_000)
    assert len(many.split("\n")) == MAX_LINES
    assert many.endswith(f"… ⟨{4 * (10_000 - MAX_LINES + 1)} more characters, {10_000 - MAX_LINES + 2} lines⟩")


def test_bounds_that_cannot_hold_the_mark_are_refused() -> None:
    with pytest.raises(ValueError, match="sanitize_line"):
        sanitize_text("x", size=10)
    with pytest.raises(ValueError, match="at least 1"):
        sanitize_line("x", limit=0)
