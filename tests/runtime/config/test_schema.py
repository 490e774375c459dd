"""One schema of settings: a setting that is declared there is read, documented and shown, and needs no second place."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from pydantic import BaseModel, Field

import runtime.config.loader
import runtime.config.schema_keys
from console.app import settings_source
from runtime.config.configuration import DEFAULT_SOURCE
from runtime.config.loader import InvalidConfiguration, load_configuration
from runtime.config.schema import RuntimeSettings, Settings
from runtime.config.schema_keys import sections, variables
from runtime.execution.execution_config import ExecutionConfig
from tests.pages import settings_tables


class WiderRuntimeSettings(RuntimeSettings):
    throwaway_s: float = Field(default=7.0, ge=0, description="seconds of a setting that only this test has")


class WiderSettings(Settings):
    runtime: WiderRuntimeSettings = Field(default_factory=WiderRuntimeSettings)


@pytest.fixture
def wider(monkeypatch: pytest.MonkeyPatch) -> None:
    """One more setting, declared in one place."""
    monkeypatch.setattr("runtime.config.loader.Settings", WiderSettings)
    for name in ("sections", "unknown_key"):
        function = getattr(runtime.config.schema_keys, name)
        monkeypatch.setattr(function, "__defaults__", (WiderSettings, *function.__defaults__[1:]))
    monkeypatch.setattr("runtime.config.loader.variables", runtime.config.schema_keys.variables.__wrapped__)


def home(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path / "none"), **more}


@pytest.mark.usefixtures("wider")
def test_a_setting_that_is_declared_is_read_from_file_and_variable_and_documented_and_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(**environ: str) -> tuple[object, str]:
        values = {each.key: each for each in load_configuration(tmp_path, home(tmp_path, **environ)).values()}
        return values["runtime.throwaway_s"].value, values["runtime.throwaway_s"].source

    assert found() == (7.0, DEFAULT_SOURCE)
    (tmp_path / "orbiter.toml").write_text("[runtime]\nthrowaway_s = 8\n")
    assert found() == (8.0, f"{tmp_path / 'orbiter.toml'}:2")
    assert found(ORBITER_RUNTIME_THROWAWAY_S="9") == (9.0, "$ORBITER_RUNTIME_THROWAWAY_S")
    with pytest.raises(InvalidConfiguration, match=r"^\$ORBITER_RUNTIME_THROWAWAY_S: runtime.throwaway_s: "):
        found(ORBITER_RUNTIME_THROWAWAY_S="-1")

    row = "| `throwaway_s` | `7` | seconds of a setting that only this test has |"
    assert row in settings_tables()["runtime"].splitlines()

    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    shown = {each.name: each for each in settings_source._read_configuration(tmp_path, ())}
    assert (shown["throwaway_s"].value, shown["throwaway_s"].source) == ("8.0", f"{tmp_path / 'orbiter.toml'}:2")


def test_the_settings_page_says_what_is_wrong_with_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))
    (tmp_path / "orbiter.toml").write_text("[budgets]\nmax_step = 3\n")
    (shown,) = settings_source._read_configuration(tmp_path, ((tmp_path, 1),))
    assert "unknown key 'budgets.max_step': did you mean 'max_steps'?" in shown.value


@pytest.mark.parametrize(("name", "model"), [(name, model) for name, _, model in sections()])
def test_every_setting_has_a_meaning(name: str, model: type[BaseModel]) -> None:
    assert [key for key, each in model.model_fields.items() if not each.description] == []


def test_a_text_needs_no_quotes_in_a_variable_and_a_list_is_as_in_the_file(tmp_path: Path) -> None:
    found = load_configuration(
        tmp_path,
        home(
            tmp_path,
            ORBITER_RUNTIME_PYTHON="3.11",
            ORBITER_RUNTIME_FALLBACKS='["scripted:b"]',
            ORBITER_PERMISSIONS_DEFAULT="deny",
            ORBITER_ERRORS_ENABLE_ERROR_ROUTING="false",
            ORBITER_ANALYSIS_MODEL="",
        ),
    ).settings
    assert (found.runtime.python, found.runtime.fallbacks) == ("3.11", ("scripted:b",))
    assert (found.permissions.default, found.errors.enable_error_routing) == ("deny", False)
    assert found.analysis.model == "auto", "an empty variable is as one that is not set"


def test_no_variable_names_a_host_a_price_or_a_rule() -> None:
    assert not [name for name in variables() if name.startswith(("ORBITER_HOSTS", "ORBITER_PRICES", "ORBITER_RULES"))]


def test_a_drive_without_configuration_is_as_one_with_every_default(tmp_path: Path) -> None:
    configured = load_configuration(tmp_path, home(tmp_path)).execution_config(analysis="off")
    plain = ExecutionConfig(workspace=str(tmp_path))
    different = {
        each.name for each in fields(ExecutionConfig) if getattr(configured, each.name) != getattr(plain, each.name)
    }
    assert different <= {"permissions", "mcp"}, json.dumps(sorted(different))
