"""`themes`, `keys` and `--theme`: in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.preferences.schema import ALL_SECTIONS
from runtime.config.schema import Settings
from tests.console.program import Program
from themes.choice import BUILTIN_NAMES, DEFAULT_THEME, PLAINEST_THEME


def test_themes_are_listed_with_the_one_that_would_be_shown(tmp_path: Path) -> None:
    program = Program(tmp_path, {"TERM": "xterm-256color"})
    found = program.json("themes")
    assert [each["id"] for each in found] == list(BUILTIN_NAMES)
    assert [each["id"] for each in found if each["chosen"]] == [DEFAULT_THEME]
    assert {each["source"] for each in found} == {"built-in"}
    assert all(name in program("themes").stdout for name in BUILTIN_NAMES)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "linux", "COLORTERM": ""}])
def test_without_colours_or_with_few_the_plainest_theme_is_chosen(tmp_path: Path, variables: dict[str, str]) -> None:
    found = Program(tmp_path, variables).json("themes")
    assert [each["id"] for each in found if each["chosen"]] == [PLAINEST_THEME]


def test_themes_of_the_users_own_are_listed_with_what_is_wrong_with_them(tmp_path: Path) -> None:
    config, state = tmp_path / "config/orbiter-console/themes", tmp_path / ".orbiter/themes"
    for folder in (config, state):
        folder.mkdir(parents=True)
    (state / "faint.yaml").write_text('base: orbiter-dark\ninks:\n  ink-muted: "#333333"\n')
    (config / "broken.yaml").write_text("base: orbiter-dark\nstates:\n  faild: red\n")
    program = Program(tmp_path, {"XDG_CONFIG_HOME": str(tmp_path / "config"), "ORBITER_THEME": "faint"})
    faint, broken = program.json("themes")[-2:]
    assert (faint["id"], faint["source"], faint["path"]) == ("faint", "workspace", str(state / "faint.yaml"))
    assert faint["chosen"]
    assert (broken["id"], broken["source"]) == ("broken", "user")
    assert "broken.yaml:3: states.faild: unknown; did you mean 'failed'?" in broken["error"]
    (told,) = program.json("themes", "faint")
    assert {pair["ink"] for pair in told["weak"]} == {"ink-muted"}
    assert told["contrast"] < 4.5
    assert "hard to read: ink-muted on row-cursor, " in program("themes", "faint").stderr
    refused = program("themes", "broken")
    assert refused.returncode == 2
    assert "broken.yaml:3: states.faild" in refused.stderr
    refused = program("themes", "fainted")
    assert refused.returncode == 2
    assert "unknown theme 'fainted'; did you mean 'faint'?" in refused.stderr


def test_a_built_in_theme_is_looked_at_by_name(program: Program) -> None:
    (told,) = program.json("themes", "orbiter-contrast-dark")
    assert (told["source"], told["weak"], told["dark"], told["ansi"]) == ("built-in", [], True, False)
    assert told["contrast"] >= 7
    assert "every text at least 7.1:1" in program("themes", "orbiter-contrast-dark").stdout


def test_an_unknown_theme_is_bad_input_and_the_nearest_is_named(program: Program, tmp_path: Path) -> None:
    done = program("--theme", "orbiter-lite")
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'orbiter-light'?" in done.stderr
    done = Program(tmp_path, {"ORBITER_THEME": "orbiter-drak"})("themes")
    assert done.returncode == 2
    assert "ORBITER_THEME: unknown theme 'orbiter-drak'; did you mean 'orbiter-dark'?" in done.stderr


def test_a_theme_is_for_the_console_and_not_for_a_verb(program: Program) -> None:
    done = program("--theme", DEFAULT_THEME, "runs")
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


def test_a_section_that_nobody_knows_is_named_with_the_nearest_by_every_verb_once(program: Program) -> None:
    (program.directory / "orbiter.toml").write_text('[console]\nmouse = false\n\n[keyz]\n"app.quit" = "x"\n')
    for verb in ("keys", "runs", "themes", "config"):
        done = program(verb)
        assert done.returncode == (2 if verb == "config" else 0)
        assert done.stderr.count("orbiter.toml:4: unknown section") == 1
        assert "did you mean" in done.stderr
        assert "keys" in done.stderr


def test_the_sections_that_are_known_without_the_runtime_are_its_own() -> None:
    assert set(ALL_SECTIONS) == set(Settings.model_fields)
