"""`themes`, `keys` and `--theme`: in processes of their own."""

from __future__ import annotations

from pathlib import Path

from tests.console.program import Program
from themes.choice import BUILT_IN, DEFAULT, PLAINEST


def test_themes_are_listed_with_the_one_that_would_be_shown(program: Program) -> None:
    found = program.json("themes")
    assert [each["id"] for each in found] == list(BUILT_IN)
    assert [each["id"] for each in found if each["chosen"]] == [DEFAULT]
    assert all(name in program("themes").stdout for name in BUILT_IN)


def test_without_colours_the_plainest_theme_is_chosen(tmp_path: Path) -> None:
    found = Program(tmp_path, {"NO_COLOR": "1"}).json("themes")
    assert [each["id"] for each in found if each["chosen"]] == [PLAINEST]


def test_an_unknown_theme_is_bad_input_and_the_nearest_is_named(program: Program, tmp_path: Path) -> None:
    done = program("--theme", "orbiter-lite")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean orbiter-light?" in done.stderr
    done = Program(tmp_path, {"ORBITER_THEME": "orbiter-drak"})("themes")
    assert done.returncode == 2
    assert "ORBITER_THEME: there is no theme 'orbiter-drak'; did you mean orbiter-dark?" in done.stderr


def test_a_theme_is_for_the_console_and_not_for_a_verb(program: Program) -> None:
    done = program("--theme", DEFAULT, "runs")
    assert done.returncode == 2
    assert "--theme" in done.stderr


def test_keys_are_listed_by_action(program: Program) -> None:
    found = {each["id"]: each for each in program.json("keys")}
    assert found["app.next_decision"] == {
        "id": "app.next_decision",
        "place": "Everywhere",
        "keys": ["n"],
        "does": "The next decision",
    }
    assert found["app.help"]["keys"] == ["?", "f1"]
    assert found["decision.grant_longer"]["keys"] != found["decision.grant"]["keys"]
    text = program("keys").stdout
    assert all(action in text for action in found)
