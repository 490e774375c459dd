"""Letters that look like others are marked in names and wherever a permission is asked for, and nothing else is."""

from __future__ import annotations

import subprocess
import sys
import unicodedata

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from console.linear.event_lines import EventLines
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)
from screens.render.confusables import exact_line, exact_lines, mark_confusables
from screens.render.glyphs import ASCII_GLYPHS
from screens.render.layout import plain_text
from screens.render.sanitize import sanitize_line
from screens.views.decisions import prompt
from screens.views.decisions.prompt_lines import PromptContent, question_lines
from screens.views.shared.render_context import RenderContext


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("d\u0430ta", "d\u0430⟨U+0430⟩ta"),
        ("g\u03bf\u043egle", "g\u03bf⟨U+03BF⟩\u043e⟨U+043E⟩gle"),
        ("\u0440\u0430\u0443", "\u0440⟨U+0440⟩\u0430⟨U+0430⟩\u0443⟨U+0443⟩"),  # all of one script, and reads as Latin
        ("/srv\u2215etc", "/srv\u2215⟨U+2215⟩etc"),
        ("host\uff1a443", "host\uff1a⟨U+FF1A⟩443"),
        ("\uff41bc", "\uff41⟨U+FF41⟩bc"),
        ("\U0001d41bin", "\U0001d41b⟨U+1D41B⟩in"),
        ("\u0261it", "\u0261⟨U+0261⟩it"),
        ("\u212bngstr\u00f6m", "\u212b⟨U+212B⟩ngstr\u00f6m"),
        ("cafe\u0301", "cafe\u0301⟨U+0301⟩"),
        ("\u1112\u1161\u11ab", "\u1112\u1161\u11ab⟨U+1161⟩⟨U+11AB⟩"),
        ("a\u0327\u0301", "a\u0327\u0301⟨U+0301⟩"),  # looks like "á" with a cedilla, which is NFC
        ("q\u0307\u0323", "q\u0307\u0323⟨U+0307⟩⟨U+0323⟩"),
        ("\u212b\u0323", "\u212b\u0323⟨U+212B⟩⟨U+0323⟩"),
        ("/srv/my\u00a0file\u2003", "/srv/my\u00a0⟨U+00A0⟩file\u2003⟨U+2003⟩"),
        ("\u043f\u0430\u043fk\u0430", "\u043f\u0430⟨U+0430⟩\u043fk\u0430⟨U+0430⟩"),
        ("net:xn--pple-43d.com:443", "net:xn--pple-43d (reads \u0430⟨U+0430⟩pple).com:443"),
    ],
)
def test_what_looks_like_something_else_is_marked(text: str, expected: str) -> None:
    assert mark_confusables(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("", "/srv/data/a.md", "naïve café", "straße", "Türkçe ılık", "отчёт за год", "ελληνικά", "データ口コミ.txt"),
        *(
            "日本語abc",
            "한국어",
            "עברית",
            "x²",
            "…",
            "“quoted”",
            "net:xn--bcher-kva.example:443",
            "xn--\u00ff",
            "xn--zzzz99",
        ),
    ],
)
def test_what_reads_as_itself_is_left_alone(text: str) -> None:
    assert mark_confusables(text) == text


def test_in_prose_words_and_signs_of_other_scripts_are_left_alone() -> None:
    assert mark_confusables("а с тор – да", whole=False) == "а с тор – да"
    assert mark_confusables("vrai\u00a0!", whole=False) == "vrai\u00a0!"
    assert "⟨U+0430⟩" in mark_confusables("d\u0430ta", whole=False)


@given(st.text(max_size=30))
def test_marks_are_only_added(text: str) -> None:
    shown = sanitize_line(text)
    found = mark_confusables(shown)
    at = 0
    for char in shown:
        at = found.index(char, at) + 1
    if shown.isascii() and "xn--" not in shown:
        assert found == shown


CLUSTERS = st.text(
    st.one_of(
        st.sampled_from("aq\u0301\u0323\u0327"),
        st.sampled_from("áÅ\u212b\u0958\u0915\u093c\u09c7\u09be\u1112\u1161\u11ab가/ \U00011099\U000110ba\U0001d15e"),
    ),
    min_size=2,
    max_size=5,
)


@given(st.one_of(CLUSTERS, st.text(max_size=30)))
@example("a\u0327\u0301")
@example("q\u0307\u0323")
def test_what_unicode_writes_another_way_is_marked(text: str) -> None:
    shown = sanitize_line(text)
    if not unicodedata.is_normalized("NFC", shown):
        assert mark_confusables(shown).count("⟨U+") > shown.count("⟨U+")


FOUL = st.text(
    st.sampled_from(
        "ab<U+>⟨⟩(xn--)4.^[/ \t\r\n\x1b\x7f␛␉⏎␡◌\u00a0\u2003–-’'"
        "\u0430é\u0301\u0323\u1161\u200b\u200d\u202e\u2800\ufe0e\ufe0f\ud800"
        "👍👩💻❤1\u20e3\U0001f1e9\U0001f1ea\U0001f3fb\U0001f3fd\U000e0041"
    ),
    max_size=8,
)


@given(FOUL, FOUL)
@example("/data/👍🏽", "/data/👍")
@example("/data/👍🏽", "/data/👍🏿")
@example("👨\u200d👩", "👨👩")
@example("❤\ufe0f", "❤")
@example("1\ufe0f\u20e3", "1\u20e3")
@example("a\tb", "a   b")
@example("a\r\nb", "a\nb")
@example("\x1b", "␛")
@example("e" + "\u0301" * 6, "e" + "\u0301" * 5 + "\u0302")
@example("\u0301", "◌\u0301")
@example("a\u200b", "a⟨U+200B⟩")
@example("a\u200b", "a<U+200B>")
@example("my–file", "my-file")
def test_names_that_differ_can_be_told_apart(one: str, other: str) -> None:
    assume(one != other)
    for ascii_only in (False, True):
        for exact in (exact_line, exact_lines):
            told, other_told = (normal(exact(text, ascii_only=ascii_only)) for text in (one, other))
            assert told != other_told


def normal(shown: str | list[str]) -> list[str]:
    """As Unicode takes texts for the same."""
    return [unicodedata.normalize("NFC", line) for line in ([shown] if isinstance(shown, str) else shown)]


LABELS = st.text(st.characters(), min_size=1, max_size=12).map(
    lambda name: f"net:xn--{name.encode('punycode', 'replace').decode('ascii', 'replace')}.com"
)


@given(st.one_of(st.text(max_size=30), LABELS))
@example("net:xn--pple-43d.com:443")
def test_where_ascii_is_asked_for_names_are_in_ascii(text: str) -> None:
    context = RenderContext(ev.utc_now(), ASCII_GLYPHS)
    lines = [context.name(text), *context.exact_lines(text), context.mark_confusables(context.sanitize_line(text))]
    assert all(line.isascii() and line.isprintable() for line in lines)
    opened = permission(text)
    shown = "\n".join(map(plain_text, question_lines(PromptContent(opened), context)))
    shown += "\n".join(line.text for line in EventLines(ascii_only=True).incident(opened, DurableRun()))
    assert shown.isascii()


def test_in_ascii_a_host_is_told_as_it_reads() -> None:
    assert exact_line("xn--pple-43d", ascii_only=True) == "xn--pple-43d (reads <U+0430>pple)"


def permission(need: str, agent: str = "wr\u0456ter") -> ev.IncidentOpened:
    fault = Classification(
        origin=Origin.TOOL,
        cause=Cause.PERMISSION_DENIED,
        persistence=Persistence.NEEDS_CHANGE,
        effect=Effect.NOT_ATTEMPTED,
        impact=Impact.NODE,
    )
    return ev.IncidentOpened(
        incident_id="i-1",
        node_id="n",
        fault=fault,
        message=f"agent '{agent}' needs the permission {need}",
        lineage=(agent, "save"),
        action={"tool": "save", "arguments": {"path": need.partition(":")[2]}, "permission": need},
    )


def test_every_prompt_of_a_permission_marks_them() -> None:
    opened = permission("fs.write:/srv/d\u0430ta/x")
    shown = "\n".join(map(plain_text, question_lines(PromptContent(opened), RenderContext(ev.utc_now()))))
    lines = "\n".join(line.text for line in EventLines().incident(opened, DurableRun()))
    for text in (shown, lines, mark_confusables(prompt.grant_words(opened, "always"))):
        assert "d\u0430⟨U+0430⟩ta" in text
        assert "d\u0430ta" not in text
        assert "wr\u0456⟨U+0456⟩ter" in text
    assert "Marked letters look like other letters" in shown
    content = PromptContent(permission("fs.write:/srv/x", "writer"))
    usual = "\n".join(map(plain_text, question_lines(content, RenderContext(ev.utc_now()))))
    assert "Marked" not in usual
    assert "⟨" not in usual


def test_the_tables_are_read_when_they_are_used() -> None:
    asked = (
        "import sys, console.cli, screens.views.decisions.prompt, screens.render.confusables as l;"
        "l.mark_confusables('plain');"
    )
    told = subprocess.run(
        [sys.executable, "-c", f"{asked}print('confusable_homoglyphs' in sys.modules)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert told.stdout.strip() == "False"


def test_a_node_is_named_by_an_emoji_as_it_is_and_a_permission_spells_it_out() -> None:
    context = RenderContext(ev.utc_now())
    assert context.name("☀️ weather") == "☀ weather"
    assert context.exact_line("☀️ weather") == "☀⟨U+FE0F⟩ weather"
    assert context.name("dаta") == context.exact_line("dаta") == "dа⟨U+0430⟩ta"
