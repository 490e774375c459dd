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

from runtime.record.state.durable_run import NodePhase, RunPhase
from runtime.record.state.fault_taxonomy import Severity
from themes import contrast
from themes.builtin_themes import builtin_theme, builtin_themes, theme_text
from themes.choice import BUILTIN_NAMES, DEFAULT_THEME
from themes.contrast import contrast_pairs, weak_pairs
from themes.loader import parse_theme
from themes.tokens import GROUNDS, INKS, SECTIONS, SEVERITIES, STATES, css_variable

TEXT = [css_variable("inks", token) for token in INKS]
TEXT += [css_variable("states", token) for token in STATES] + [
    css_variable("severities", token) for token in SEVERITIES
]


@pytest.fixture(params=BUILTIN_NAMES)
def theme(request: pytest.FixtureRequest) -> Theme:
    return builtin_theme(request.param)


def test_what_comes_with_the_program_is_read_as_any_theme_is(theme: Theme) -> None:
    assert parse_theme(theme_text(theme.name), theme.name) == theme


def test_all_text_is_readable_on_every_ground(theme: Theme) -> None:
    """Colours of a terminal are those of the VGA and of xterm, in which the light on dark or the reverse."""
    found = contrast_pairs(theme)
    assert {(pair.ink, pair.ground) for pair in found} == {(ink, ground) for ink in TEXT for ground in GROUNDS}
    assert [pair for pair in found if pair.ratio < 4.5] == []
    assert weak_pairs(theme) == []


@pytest.mark.parametrize(
    ("ink", "ground"),
    [
        ("block-cursor-foreground", "block-cursor-background"),
        ("input-cursor-foreground", "input-cursor-background"),
        ("ink", "input-selection-background"),
        ("text", "panel"),
        ("text-muted", "panel"),
        ("text-disabled", "background"),
        ("screen-selection-foreground", "screen-selection-background"),
    ],
)
def test_what_textual_marks_by_itself_is_readable_too(theme: Theme, ink: str, ground: str) -> None:
    ink = "input-selection-foreground" if theme.ansi and "input-selection" in ground else ink
    if theme.variables.get(ground.replace("background", "text-style")) == "reverse":  # the terminal's two colours
        ground = "background"
    assert contrast.contrast_of(theme, ink, ground) >= 4.5


def test_the_border_of_the_focused_pane_stands_out(theme: Theme) -> None:
    """WCAG 2 wants 3:1 for parts of the interface that are no text."""
    assert min(contrast.contrast_of(theme, "line-focus", ground) for ground in ("background", "surface", "panel")) >= 3


def test_contrast_is_that_of_wcag() -> None:
    white, black, grey, red = (Color.parse(text) for text in ("#ffffff", "#000000", "#777777", "#ff0000"))
    assert contrast.contrast_ratio(white, black) == contrast.contrast_ratio(black, white) == 21
    assert contrast.contrast_ratio(grey, grey) == 1
    assert contrast.contrast_ratio(grey, white) == pytest.approx(4.48, abs=0.01)  # the grey that just fails
    assert contrast.contrast_ratio(red, white) == pytest.approx(4.0, abs=0.01)


def test_every_state_and_severity_has_a_token() -> None:
    assert set(STATES) == {*get_args(RunPhase), *get_args(NodePhase)}
    assert set(SEVERITIES) == {str(severity) for severity in Severity}


def test_there_is_a_dark_and_a_light_theme_of_each_kind_and_the_default_comes_first() -> None:
    themes = builtin_themes()
    assert [theme.name for theme in themes] == list(BUILTIN_NAMES)
    assert themes[0].name == DEFAULT_THEME
    for kind in ("orbiter", "orbiter-contrast", "orbiter-colourblind", "orbiter-ansi"):
        assert {theme.name: theme.dark for theme in themes if theme.name.rpartition("-")[0] == kind} == {
            f"{kind}-dark": True,
            f"{kind}-light": False,
        }


def test_every_theme_file_that_is_shipped_can_be_chosen() -> None:
    shipped = {Path(each.name).stem for each in files("themes").iterdir() if each.name.endswith(".toml")}
    assert shipped == set(BUILTIN_NAMES)


@pytest.mark.parametrize("name", [name for name in BUILTIN_NAMES if "contrast" in name])
def test_high_contrast_is_that_of_wcag_aaa(name: str) -> None:
    assert [pair for pair in contrast_pairs(builtin_theme(name)) if pair.ratio < 7] == []


@pytest.mark.parametrize("name", [name for name in BUILTIN_NAMES if "ansi" in name])
def test_an_ansi_theme_leaves_the_grounds_to_the_terminal(name: str) -> None:
    theme = builtin_theme(name)
    assert theme.ansi
    assert {theme.variables[css_variable("grounds", token)] for token in GROUNDS} == {"ansi_default"}
    assert {value for value in theme.variables.values() if not value.startswith("ansi_")} == {"reverse"}


@pytest.mark.parametrize("name", [name for name in BUILTIN_NAMES if "colourblind" in name])
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
    first, second = (_lab(_deuteranope(colour)) for colour in _colours(builtin_theme(name), one, other))
    assert dist(first, second) >= APART, f"{name}: ${one} and ${other}"


def test_the_measure_for_who_sees_no_green_finds_red_and_green_of_one_lightness_alike() -> None:
    """A pair that is far apart for most people, and is not for everybody: the measure can fail."""
    red, green = Color.parse("#b06030"), Color.parse("#708a2c")
    assert dist(_lab(_linear(red)), _lab(_linear(green))) >= APART
    assert dist(_lab(_deuteranope(red)), _lab(_deuteranope(green))) < APART


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


async def test_textual_takes_the_theme_and_style_sheets_see_its_tokens(theme: Theme) -> None:
    class Bare(App[None]):
        def on_mount(self) -> None:
            self.register_theme(theme)
            self.theme = theme.name

    app = Bare()
    async with app.run_test():
        for section, tokens in SECTIONS.items():
            for token in tokens:
                assert (
                    app.theme_variables[css_variable(section, token)] == theme.variables[css_variable(section, token)]
                )


def test_every_token_and_every_theme_is_documented() -> None:
    page = (Path(__file__).parents[2] / "docs" / "themes.md").read_text("utf-8")
    told, _, tables = page.partition("## Tokens")
    assert [name for name in BUILTIN_NAMES if f"`{name}`" not in told] == []
    rows = [
        f"| `{token}` | `${css_variable(section, token)}` | {meaning} |"
        for section, tokens in SECTIONS.items()
        for token, meaning in tokens.items()
    ]
    assert [line for line in tables.splitlines() if line.startswith("| `")] == rows
