from __future__ import annotations

from importlib.resources import files
from math import dist
from operator import mul
from pathlib import Path
from typing import get_args

import pytest
from textual.app import App
from textual.color import Color
from textual.theme import Theme

from runtime.record.state import NodePhase, RunPhase
from runtime.record.taxonomy import Severity
from themes.choice import BUILT_IN, DEFAULT, PLAINEST, UnknownTheme, chosen
from themes.loader import ThemeError, built_in, load, named, parse
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


def test_there_is_a_dark_and_a_light_theme_of_each_kind_and_the_default_comes_first() -> None:
    themes = built_in()
    assert [theme.name for theme in themes] == list(BUILT_IN)
    assert themes[0].name == DEFAULT
    for kind in ("orbiter", "orbiter-contrast", "orbiter-colourblind"):
        assert {theme.name: theme.dark for theme in themes if theme.name.rpartition("-")[0] == kind} == {
            f"{kind}-dark": True,
            f"{kind}-light": False,
        }


def test_every_theme_file_that_is_shipped_can_be_chosen() -> None:
    shipped = {Path(each.name).stem for each in files("themes").iterdir() if each.name.endswith(".yaml")}
    assert shipped == set(BUILT_IN)


@pytest.mark.parametrize("name", [name for name in BUILT_IN if "contrast" in name])
def test_high_contrast_is_that_of_wcag_aaa(name: str) -> None:
    theme = named(name)
    found = {(ink, ground): _ratio(*_colours(theme, ink, ground)) for ink in TEXT for ground in GROUNDS}
    assert {pair: ratio for pair, ratio in found.items() if ratio < 7} == {}


@pytest.mark.parametrize("name", [name for name in BUILT_IN if "colourblind" in name])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("state-succeeded", "state-failed"),
        ("state-completed", "state-timed-out"),
        ("state-succeeded", "state-degraded"),
        ("state-succeeded", "state-waiting"),
        ("state-running", "state-failed"),
        ("state-running", "state-succeeded"),
        ("state-waiting", "state-running"),
    ],
)
def test_who_sees_no_green_tells_the_states_apart(name: str, one: str, other: str) -> None:
    first, second = (_lab(_deuteranope(colour)) for colour in _colours(named(name), one, other))
    assert dist(first, second) >= APART, f"{name}: ${one} and ${other}"


def test_the_measure_for_who_sees_no_green_finds_red_and_green_of_one_lightness_alike() -> None:
    """A pair that is far apart for most people, and is not for everybody: the measure can fail."""
    red, green = Color.parse("#b06030"), Color.parse("#708a2c")
    assert dist(_lab(_linear(red)), _lab(_linear(green))) >= APART
    assert dist(_lab(_deuteranope(red)), _lab(_deuteranope(green))) < APART


@pytest.mark.parametrize(
    ("environment", "asked", "name"),
    [
        ({}, None, DEFAULT),
        ({"ORBITER_THEME": ""}, None, DEFAULT),
        ({"ORBITER_THEME": "orbiter-light"}, None, "orbiter-light"),
        ({"ORBITER_THEME": "orbiter-light"}, "orbiter-contrast-light", "orbiter-contrast-light"),
        ({"ORBITER_THEME": "nonsense"}, "orbiter-light", "orbiter-light"),
        ({"NO_COLOR": "1"}, None, PLAINEST),
        ({"NO_COLOR": ""}, None, DEFAULT),
        ({"NO_COLOR": "1", "ORBITER_THEME": "orbiter-light"}, None, "orbiter-light"),
        ({"NO_COLOR": "1"}, "orbiter-dark", "orbiter-dark"),
    ],
)
def test_what_is_asked_for_most_nearly_is_shown(environment: dict[str, str], asked: str | None, name: str) -> None:
    assert chosen(environment, asked) == name


@pytest.mark.parametrize(
    ("environment", "asked", "words"),
    [
        ({}, "orbiter-lite", ["--theme", "'orbiter-lite'", "did you mean orbiter-light?", PLAINEST]),
        ({}, "Orbiter-Dark", ["did you mean orbiter-dark?"]),
        ({}, "", ["--theme", "''"]),
        ({"ORBITER_THEME": "orbiter-contrast"}, None, ["ORBITER_THEME", "did you mean orbiter-contrast-"]),
        ({}, "zzz", ["'zzz'; there are orbiter-dark"]),
    ],
)
def test_an_unknown_theme_is_refused_with_the_nearest(
    environment: dict[str, str], asked: str | None, words: list[str]
) -> None:
    with pytest.raises(UnknownTheme) as caught:
        chosen(environment, asked)
    assert all(word in str(caught.value) for word in words)


APART = 20.0
"""CIE 1976 difference of colours; 2.3 can just be noticed, 20 is told at a glance and in small type."""


def _colours(theme: Theme, *tokens: str) -> list[Color]:
    return [Color.parse(theme.variables[token]) for token in tokens]


def _linear(colour: Color) -> list[float]:
    parts = (part / 255 for part in (colour.r, colour.g, colour.b))
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def _deuteranope(colour: Color) -> list[float]:
    """Linear RGB as it is seen without the middle cones (Machado, Oliveira and Fernandes 2009, severity 1)."""
    matrix = ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881))
    light = _linear(colour)
    return [min(1.0, max(0.0, sum(map(mul, row, light)))) for row in matrix]


def _lab(light: list[float]) -> tuple[float, float, float]:
    """CIE L*a*b* of linear sRGB under D65."""
    matrix = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
    white = (0.9505, 1.0, 1.089)
    shares = (sum(map(mul, row, light)) / full for row, full in zip(matrix, white, strict=True))
    x, y, z = (share ** (1 / 3) if share > 0.008856 else 7.787 * share + 16 / 116 for share in shares)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


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
