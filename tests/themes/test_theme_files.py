from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import get_args

import pytest
from textual.app import App
from textual.color import Color
from textual.theme import Theme

from runtime.record.state import NodePhase, RunPhase
from runtime.record.taxonomy import Severity
from themes.loader import DEFAULT, ThemeError, built_in, load, parse
from themes.tokens import GROUNDS, INKS, SECTIONS, SEVERITIES, STATES, variable

READABLE = 4.5
"""WCAG 2 AA for text of ordinary size."""

TEXT = [variable("inks", token) for token in INKS]
TEXT += [variable("states", token) for token in STATES] + [variable("severities", token) for token in SEVERITIES]


@pytest.fixture(params=[theme.name for theme in built_in()])
def theme(request: pytest.FixtureRequest) -> Theme:
    return next(theme for theme in built_in() if theme.name == request.param)


@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("ink", TEXT)
def test_all_text_is_readable_on_every_ground(theme: Theme, ink: str, ground: str) -> None:
    ratio = _ratio(Color.parse(theme.variables[ink]), Color.parse(theme.variables[ground]))
    assert ratio >= READABLE, f"{theme.name}: ${ink} on ${ground} is {ratio:.2f}:1"


def test_the_border_of_the_focused_pane_stands_out(theme: Theme) -> None:
    """WCAG 2 wants 3:1 for parts of the interface that are no text."""
    line, ground = (Color.parse(theme.variables[name]) for name in ("line-focus", "background"))
    assert _ratio(line, ground) >= 3


def test_every_state_and_severity_has_a_token() -> None:
    assert set(STATES) == {*get_args(RunPhase), *get_args(NodePhase)}
    assert set(SEVERITIES) == {str(severity) for severity in Severity}


def test_there_is_a_dark_and_a_light_theme_and_the_default_is_one_of_them() -> None:
    themes = built_in()
    assert {theme.dark for theme in themes} == {True, False}
    assert themes[0].name == DEFAULT


def _ratio(one: Color, other: Color) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.03928 else float(((share + 0.055) / 1.055) ** 2.4)

    return 0.2126 * linear(colour.r) + 0.7152 * linear(colour.g) + 0.0722 * linear(colour.b)


async def test_textual_takes_the_theme_and_style_sheets_see_its_tokens(theme: Theme) -> None:
    class Bare(App[None]):
        def on_mount(self) -> None:
            self.register_theme(theme)
            self.theme = theme.name

    app = Bare()
    async with app.run_test():
        for section, tokens in SECTIONS.items():
            for token in tokens:
                assert app.theme_variables[variable(section, token)] == theme.variables[variable(section, token)]


GOOD = (files("themes") / f"{DEFAULT}.yaml").read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1, 2]", ["mapping"]),
        ("a: [", ["no YAML"]),
        (GOOD.replace("dark: true", "dark: night"), ["dark", "true"]),
        (GOOD.replace("name: orbiter-dark", "name: ''"), ["name"]),
        (GOOD.replace("  timed_out:", "  timedout:"), ["states", "timedout", "timed_out"]),
        (GOOD.replace('  ink-mark: "#f59ad0"\n', ""), ["inks.ink-mark", "missing", "invisible"]),
        (GOOD.replace('"#f59ad0"', "rosy"), ["inks.ink-mark", "rosy", "#rrggbb"]),
        (GOOD.replace('"#f59ad0"', "12"), ["inks.ink-mark", "12", "#rrggbb"]),
        (GOOD + "\nsounds: {}\n", ["sounds"]),
        (GOOD.replace("lines:\n", "lines: none\nlinens:\n"), ["linens"]),
    ],
)
def test_a_broken_theme_says_what_where_and_what_instead(text: str, words: list[str]) -> None:
    with pytest.raises(ThemeError) as caught:
        parse(text, "mine.yaml")
    assert all(word in str(caught.value) for word in ["mine.yaml", *words])


def test_a_theme_of_the_users_own_is_loaded_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(GOOD.replace("name: orbiter-dark", "name: mine"), "utf-8")
    assert load(path).name == "mine"


def test_a_theme_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ThemeError, match=r"none\.yaml"):
        load(tmp_path / "none.yaml")
