"""A swarm's file is compiled once for each content, and executed for each load."""

from __future__ import annotations

import os
from importlib.machinery import SourceFileLoader
from pathlib import Path

import pytest

from runtime.swarms import compiled_source
from runtime.swarms.load_errors import SwarmLoadError
from runtime.swarms.loader import load_swarm

SWARM = """
from orbiter import Agent
calls = []
agent = Agent(name={name!r}, model="scripted:compiled/any", instructions="be")
agent.calls = calls
"""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were compiled."""
    found: list[str] = []
    original = SourceFileLoader.source_to_code

    def counted(self: SourceFileLoader, data: bytes, path: str) -> object:
        found.append(path)
        return original(self, data, path)

    monkeypatch.setattr(compiled_source.OnceCompiledLoader, "source_to_code", counted)
    return found


def test_a_file_that_did_not_change_is_compiled_once_and_executed_each_time(
    tmp_path: Path, compiled: list[str]
) -> None:
    path = tmp_path / "swarm.py"
    path.write_text(SWARM.format(name="one"))
    first, second = (load_swarm(f"{path}:agent", tmp_path) for _ in range(2))
    assert (first.name, second.name) == ("one", "one")
    assert first is not second
    assert first.calls is not second.calls
    assert compiled == [str(path)]


def test_another_content_of_the_same_size_and_time_is_another_code(tmp_path: Path, compiled: list[str]) -> None:
    path = tmp_path / "swarm.py"
    names = []
    for name in ("one", "two", "one"):
        path.write_text(SWARM.format(name=name))
        os.utime(path, ns=(10**18, 10**18))
        names.append(load_swarm(f"{path}:agent", tmp_path).name)
    assert names == ["one", "two", "one"]
    assert compiled == [str(path)] * 2


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were read."""
    found: list[str] = []
    original = SourceFileLoader.get_data

    def counted(self: SourceFileLoader, path: str) -> bytes:
        found.append(path)
        return original(self, path)

    monkeypatch.setattr(compiled_source.OnceCompiledLoader, "get_data", counted)
    return found


def test_a_file_that_has_been_unchanged_for_long_enough_is_read_once(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "swarm.py"
    path.write_text(SWARM.format(name="one"))
    load_swarm(f"{path}:agent", tmp_path)
    load_swarm(f"{path}:agent", tmp_path)
    assert len(read) == 2, "it was written a moment ago"
    monkeypatch.setattr(compiled_source, "SETTLED_NS", -(10**18))
    first, second = (load_swarm(f"{path}:agent", tmp_path) for _ in range(2))
    assert len(read) == 3
    assert first.calls is not second.calls


@pytest.mark.parametrize("way", ["write", "replace", "same size and time"])
def test_a_file_that_was_read_long_after_its_last_change_is_read_again_when_it_changes(
    tmp_path: Path, read: list[str], monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(compiled_source, "SETTLED_NS", -(10**18))
    path, other = tmp_path / "swarm.py", tmp_path / "other.txt"
    path.write_text(SWARM.format(name="one"))
    before = path.stat()
    assert load_swarm(f"{path}:agent", tmp_path).name == "one"
    while other.write_bytes(b"") == 0 and other.stat().st_ctime_ns == before.st_ctime_ns:
        pass  # until the file system's clock has gone on
    if way == "replace":
        other.write_text(SWARM.format(name="two"))
        other.replace(path)
    else:
        path.write_text(SWARM.format(name="two" if way != "write" else "another"))
    if way == "same size and time":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert load_swarm(f"{path}:agent", tmp_path).name == ("another" if way == "write" else "two")
    assert len(read) == 2


def test_what_cannot_be_compiled_is_said_each_time(tmp_path: Path) -> None:
    path = tmp_path / "swarm.py"
    path.write_text("agent = (\n")
    for _ in range(2):
        with pytest.raises(SwarmLoadError, match=r"swarm\.py, line 1: '\(' was never closed"):
            load_swarm(f"{path}:agent", tmp_path)


def test_only_so_much_code_is_kept(tmp_path: Path, compiled: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_source, "MAX_FILES", 1)
    path = tmp_path / "swarm.py"
    for name in ("one", "two", "one"):
        path.write_text(SWARM.format(name=name))
        load_swarm(f"{path}:agent", tmp_path)
    assert len(compiled) == 3
