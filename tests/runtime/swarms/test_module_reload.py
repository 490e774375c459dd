"""Changed files of a workspace are imported again for new runs; live runs keep the code that they have."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import threading
import weakref
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from runtime.operations.run_controls import RunControls
from runtime.swarms import imports, loader, module_reload
from tests.runtime.bench import ME, Bench

SWARM = """
from orbiter import Agent, tool
from orbiter.models.scripted.replies import Call, Reply
from orbiter.models.scripted.provider import script
import {helper}
from {package}.inner import shout

@tool(idempotent=True)
def say() -> str:
    return shout({helper}.WORD)

script("fresh/{helper}", [Reply(calls=[Call("say", {{}})]), "${{result}}"])
agent = Agent(name="sayer", model="scripted:fresh/{helper}", tools=[say])
"""


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    path, known = list(sys.path), set(sys.modules)
    yield
    sys.path[:] = path
    for name in set(sys.modules) - known:
        if name.startswith(("words_", "pack_", "same_name", "_orbiter_user_")):
            del sys.modules[name]


def _write(root: Path, mark: str, word: str) -> Path:
    (root / f"pack_{mark}").mkdir(exist_ok=True)
    (root / f"pack_{mark}" / "__init__.py").touch()
    (root / f"pack_{mark}" / "inner.py").write_text("def shout(word):\n    return word + '!'\n")
    (root / f"words_{mark}.py").write_text(f"WORD = {word!r}\n")
    path = root / "swarm.py"
    path.write_text(SWARM.format(helper=f"words_{mark}", package=f"pack_{mark}"))
    return path


@pytest.mark.parametrize("target", ["swarm.py:agent", "words_and_all_{mark}:agent"])
async def test_a_new_run_sees_edited_files_and_a_live_one_does_not(bench: Bench, target: str) -> None:
    mark = "a" if target.startswith("swarm") else "b"
    path = _write(bench.root, mark, "one")
    if mark == "b":
        path.rename(bench.root / f"words_and_all_{mark}.py")
    ref = target.format(mark=mark)
    async with bench.driving():
        live = await bench.decisions.start(ref, "go", by=ME)
        await RunControls(bench.journal).set_breakpoint(live, "tool", "say", by=ME)
        (stopped,) = await bench.incidents(live)
        # The same length, in the same second: only the file system's own time tells.
        (bench.root / f"words_{mark}.py").write_text("WORD = 'two'\n")
        (bench.root / f"pack_{mark}" / "inner.py").write_text("def shout(word):\n    return word + '?'\n")
        assert (await bench.ended(await bench.decisions.start(ref, "go", by=ME))).output == "two?"
        assert (await bench.ended_by(stopped, "retry")).output == "one!"
        os.utime(bench.root / f"pack_{mark}" / "inner.py")
        (bench.root / f"words_{mark}.py").unlink()
        (incident,) = await bench.incidents(await bench.decisions.start(ref, "go", by=ME))
        assert f"words_{mark}" in incident.opened.message
    assert not list(bench.root.rglob("__pycache__"))


def test_what_has_not_changed_is_imported_once(tmp_path: Path) -> None:
    _write(tmp_path, "c", "one")
    counted = "with open(__file__ + '.log', 'a') as log:\n    log.write('x')\nWORD = '1'\n"
    (tmp_path / "words_c.py").write_text(counted)
    for path in tmp_path.rglob("*.py"):
        os.utime(path, (1e9, 1e9))
    for _ in range(3):
        loader.load_swarm("swarm.py:agent", tmp_path)
    assert (tmp_path / "words_c.py.log").read_text() == "x"


def test_what_lies_beside_a_swarm_is_its_own(tmp_path: Path) -> None:
    swarm = "import same_name\nclass Agent:\n    name = same_name.NAME\n    def run(self): ...\nagent = Agent()\n"
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "same_name.py").write_text(f"NAME = {name!r}\n")
        (tmp_path / name / "swarm.py").write_text(swarm)
    for name in ("first", "second", "first"):
        assert loader.load_swarm(f"{name}/swarm.py:agent", tmp_path).name == name


def test_a_file_of_a_package_imports_the_package_by_its_name(tmp_path: Path) -> None:
    """As under `python -m`, from the root of the workspace; what lies beside the file goes before."""
    agents = tmp_path / "pack_app" / "agents"
    agents.mkdir(parents=True)
    (tmp_path / "pack_app" / "__init__.py").touch()
    (tmp_path / "pack_app" / "words.py").write_text('WORD = "package"\n')
    (tmp_path / "words_here.py").write_text('WORD = "root"\n')
    (agents / "words_here.py").write_text('WORD = "beside"\n')
    (agents / "speaker.py").write_text(
        "from orbiter import Agent\nfrom pack_app.words import WORD\nimport words_here\n"
        'agent = Agent(name="speaker", model="scripted:x", instructions=f"{WORD} {words_here.WORD}")\n'
    )
    assert loader.load_swarm("pack_app/agents/speaker.py:agent", tmp_path).instructions == "package beside"


async def test_loads_go_one_after_the_other_in_one_thread_and_one_that_is_cancelled_is_not_done(
    tmp_path: Path,
) -> None:
    path = tmp_path / "swarm.py"
    path.write_text("class Agent:\n    name = 'one'\n    def run(self): ...\nagent = Agent()\n")
    running, most = 0, 0
    original = loader.load_swarm

    def counted(*args: Any, **given: Any) -> Any:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        try:
            return original(*args, **given)
        finally:
            with lock:
                running -= 1

    lock = threading.Lock()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loader, "load_swarm", counted)
        loads = [asyncio.ensure_future(imports.load(f"{path}:agent", tmp_path)) for _ in range(40)]
        await asyncio.sleep(0)  # each is in the queue
        for load in loads[20:30]:
            load.cancel()
        found = await asyncio.gather(*loads, return_exceptions=True)
    assert [getattr(each, "name", "cancelled") for each in found] == ["one"] * 20 + ["cancelled"] * 10 + ["one"] * 10
    assert most == 1


def test_modules_are_looked_at_again_only_where_others_are_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = _write(tmp_path, "again", "one")
    for file in tmp_path.rglob("*"):
        os.utime(file, (0, 0))  # what was written a moment before it is imported is read again
    loader.load_swarm(f"{path}:agent", tmp_path)
    loader.load_swarm(f"{path}:agent", tmp_path)
    looks: list[tuple[Path, ...]] = []
    scan = module_reload._scan

    def counted(folders: tuple[Path, ...], table: Any) -> Any:
        looks.append(folders)
        return scan(folders, table)

    monkeypatch.setattr(module_reload, "_scan", counted)
    loader.load_swarm(f"{path}:agent", tmp_path)  # another module of the swarm's own file, and nothing else
    assert looks == []
    monkeypatch.setitem(sys.modules, "words_again", ModuleType("words_again"))
    loader.load_swarm(f"{path}:agent", tmp_path)
    assert looks, "another module under the same name"


def test_the_workspace_is_listed_again_for_each_load_and_all_else_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Finder:
        looks = 0

        def invalidate_caches(self) -> None:
            self.looks += 1

    path = _write(tmp_path, "listed", "one")
    monkeypatch.setattr(module_reload, "_others_at", 0.0)
    loader.load_swarm(f"{path}:agent", tmp_path)
    below, beside = Finder(), Finder()
    monkeypatch.setitem(sys.path_importer_cache, str(tmp_path / "package"), below)
    monkeypatch.setitem(sys.path_importer_cache, f"{tmp_path}2", beside)
    monkeypatch.setattr(module_reload, "_others_at", float("inf"))
    for _ in range(3):
        loader.load_swarm(f"{path}:agent", tmp_path)
    assert (below.looks, beside.looks) == (3, 0)
    monkeypatch.setattr(module_reload, "_others_at", 0.0)
    loader.load_swarm(f"{path}:agent", tmp_path)
    assert (below.looks, beside.looks) == (4, 1)
    assert module_reload._others_at > 0.0


def test_a_module_that_was_forgotten_is_not_kept_in_memory(tmp_path: Path) -> None:
    path = _write(tmp_path, "gone", "one")
    loader.load_swarm(f"{path}:agent", tmp_path)
    before = weakref.ref(sys.modules["words_gone"])
    helper = tmp_path / "words_gone.py"
    helper.write_text("WORD = 'another'\n")
    os.utime(helper, (1, 1))
    loader.load_swarm(f"{path}:agent", tmp_path)
    gc.collect()
    assert sys.modules["words_gone"].WORD == "another"
    assert before() is None


def test_a_modules_file_is_compared_as_a_path_would_write_it() -> None:
    for file in ("".join(signs) for length in range(7) for signs in product("/.a", repeat=length)):
        assert module_reload._normalized(file) == str(Path(file)), file
