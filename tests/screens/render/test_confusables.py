"""Letters that look like others are marked in names and wherever a permission is asked for, and nothing else is."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
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
from screens.render.confusables import mark_confusables
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
        ("\u1112\u1161\u11ab", "\u1112\u1161⟨U+1161⟩\u11ab"),
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
