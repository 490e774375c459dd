"""Registries and configuration models."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from orbiter.config import AgentConfig, ModelConfig, RunConfig, TaskConfig, parse_model_string
from orbiter.errors import OrbiterError
from orbiter.registry import Registry, RegistryError, agent_registry, model_registry, tool_registry


def test_register_get_list() -> None:
    registry: Registry[Any] = Registry("tool_registry")
    assert registry.register("search", 1) == 1

    @registry.register("fetch")
    def fetch() -> str:
        return "f"

    assert registry.get("search") == 1
    assert registry.get("fetch") is fetch
    assert fetch() == "f"
    assert "search" in registry
    assert "other" not in registry
    assert registry.list_all() == ["search", "fetch"]
    assert (registry._name, list(registry._items)) == ("tool_registry", ["search", "fetch"])
    assert Registry()._name == "registry"


def test_the_texts_of_seed_000() -> None:
    registry: Registry[int] = Registry("tool_registry")
    registry.register("search", 1)
    with pytest.raises(RegistryError) as taken:
        registry.register("search", 2)
    assert str(taken.value) == "'search' is already registered in tool_registry"
    assert registry.get("search") == 1
    with pytest.raises(OrbiterError) as missing:
        Registry[int]("model_registry").get("unknown")
    assert str(missing.value) == "'unknown' not found in model_registry"


def test_a_file_that_is_read_again_gives_its_names_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Registry[int] = Registry("model_registry")
    monkeypatch.setattr("orbiter.registry.model_registry", registry)
    source = "from orbiter.registry import model_registry\nmodel_registry.register('parrot', 1)\n"
    for name in ("first", "other"):
        (tmp_path / f"{name}.py").write_text(source)
    helper = tmp_path / "registering_helper.py"
    helper.write_text(
        "from orbiter.registry import model_registry\ndef add():\n    model_registry.register('owl', 2)\n"
    )
    (tmp_path / "by_helper.py").write_text("import registering_helper\nregistering_helper.add()\n")
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "twice.py").write_text(source + source.replace("parrot", "x") * 2)

    def read(file: str) -> None:
        spec = importlib.util.spec_from_file_location(file, tmp_path / f"{file}.py")
        assert spec is not None
        assert spec.loader is not None
        spec.loader.exec_module(importlib.util.module_from_spec(spec))

    read("first")
    read("first")
    read("by_helper")
    read("by_helper")
    assert registry.list_all() == ["parrot", "owl"]
    with pytest.raises(RegistryError) as taken:
        read("other")
    assert f"{tmp_path / 'first.py'} has it" in str(taken.value.hint)
    (tmp_path / "also_by_helper.py").write_text("import registering_helper\nregistering_helper.add()\n")
    sys.modules.pop("registering_helper")
    with pytest.raises(RegistryError, match="'owl' is already registered"):
        read("also_by_helper")  # the helper is loaded again; the file is another one
    registry._items.clear()
    with pytest.raises(RegistryError, match="'x' is already registered"):
        read("twice")
    sys.modules.pop("registering_helper")


def test_a_missing_name_is_told_with_the_nearest_one() -> None:
    registry: Registry[int] = Registry()
    registry.register("search", 1)
    registry.register("fetch", 2)
    with pytest.raises(RegistryError) as near:
        registry.get("serch")
    assert near.value.hint == "Did you mean 'search'?"
    assert isinstance(near.value.__cause__, KeyError)
    with pytest.raises(RegistryError) as far:
        registry.get("zzz")
    assert far.value.hint == "Registered are: search, fetch"


def test_the_globals_are_named() -> None:
    names = [registry._name for registry in (agent_registry, tool_registry, model_registry)]
    assert names == ["agent_registry", "tool_registry", "model_registry"]


@pytest.mark.parametrize(
    ("text", "pair"),
    [
        ("openai:gpt-4o", ("openai", "gpt-4o")),
        ("gpt-4o", ("openai", "gpt-4o")),
        ("ollama:llama3:8b", ("ollama", "llama3:8b")),
        ("openrouter:meta/llama", ("openrouter", "meta/llama")),
    ],
)
def test_a_model_string(text: str, pair: tuple[str, str]) -> None:
    assert parse_model_string(text) == pair


def test_model_config() -> None:
    config = ModelConfig()
    assert (config.provider, config.model_name, config.api_key, config.base_url) == ("openai", "gpt-4o", None, None)
    assert (config.max_retries, config.timeout) == (3, 30.0)
    assert "secret" not in repr(ModelConfig(api_key="secret"))
    assert ModelConfig(max_retries=0).max_retries == 0


@pytest.mark.parametrize(
    ("kind", "bad"),
    [
        (ModelConfig, {"max_retries": -1}),
        (ModelConfig, {"timeout": 0}),
        (AgentConfig, {}),
        (AgentConfig, {"name": "a", "temperature": 2.1}),
        (AgentConfig, {"name": "a", "temperature": -0.1}),
        (AgentConfig, {"name": "a", "max_steps": 0}),
        (TaskConfig, {}),
    ],
)
def test_bad_settings_are_refused(kind: type[ModelConfig], bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        kind.model_validate(bad)


def test_other_configs() -> None:
    agent = AgentConfig(name="a")
    assert (agent.model, agent.instructions, agent.temperature) == ("openai:gpt-4o", "", 1.0)
    assert (agent.max_tokens, agent.max_steps) == (None, 10)
    run = RunConfig()
    assert (run.max_steps, run.timeout, run.stream, run.verbose) == (10, None, False, False)
    assert TaskConfig(name="t").description == ""
