"""Start-up stays light: the lower packages load no screen and no vendor's SDK, and the byte pump next to nothing."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.operations.handler_table import HANDLERS
from runtime.operations.operations import handler_of
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.summary import Summary
from tests.runtime.link.link_bench import Bench

ROOT = Path(__file__).parents[1]
VENDORS = frozenset({"orbiter.models.anthropic.provider", "orbiter.models.openai.provider"})
"""What is loaded when a model of theirs is called; each may load its own vendor's SDK."""
FRAMEWORKS = ("orbiter.guests.pydantic_ai", "orbiter.guests.langgraph", "orbiter.guests.openai_agents")
"""What is loaded when an agent of another framework is run; a framework brings what it needs."""
MCP_SDK = ("orbiter.mcp.sdk",)
"""What is loaded when an MCP server is first connected."""
HEAVY = (
    "textual",
    "rich",
    "anthropic",
    "openai",
    "httpx",
    "httpx2",
    "genai_prices",
    "mcp",
    "mcp_types",
    "opentelemetry",
)


def modules_of(package: str) -> list[str]:
    found = sorted((ROOT / package).rglob("*.py"))
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in found]
    return [name.removesuffix(".__init__") for name in names if not name.endswith("__main__")]


def loaded_after(code: str, watched: tuple[str, ...]) -> set[str]:
    """Runs `code` in an interpreter of its own and says which of the watched packages it loaded."""
    script = f"{code}\nimport sys\nprint(*sorted(set(sys.modules) & {set(watched)!r}))"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "package", ["orbiter", "orbiter.mcp", "runtime", "runtime.config.loader", "runtime.worker.telemetry.trace_export"]
)
def test_importing_a_lower_floor_loads_neither_textual_nor_a_vendor_sdk(package: str) -> None:
    assert loaded_after(f"import {package}", HEAVY) == set()


@pytest.mark.parametrize("package", ["orbiter", "runtime"])
def test_no_module_of_a_lower_floor_loads_them_either(package: str) -> None:
    modules = [
        name for name in modules_of(package) if name not in VENDORS and not name.startswith(FRAMEWORKS + MCP_SDK)
    ]
    assert package in modules
    watched = ("textual", "rich", "anthropic", "openai", "genai_prices", "mcp", "mcp_types")
    assert loaded_after("import " + ", ".join(modules), watched) == set()


def test_the_command_line_starts_light() -> None:
    assert loaded_after("import console.cli", (*HEAVY, "pydantic", "asyncio")) == set()


@pytest.mark.parametrize("package", ["console", "screens"])
def test_what_has_no_screen_loads_no_textual(package: str) -> None:
    """The linear mode, the views behind the screens, and every verb work where Textual is not installed."""
    linear = [
        "console.cli",
        "console.linear.run_follower",
        "console.linear.event_lines",
        "console.verbs.runs.demo",
        "console.verbs.decisions.incidents",
    ]
    modules = {
        "console": linear,
        "screens": ["screens.render.sanitize", "screens.render.formatting", "screens.render.glyphs"],
    }[package]
    assert loaded_after("import " + ", ".join(modules), ("textual", "anthropic", "openai")) == set()


def test_models_of_pydantic_are_built_when_they_are_first_used() -> None:
    """Before it builds the first validator, pydantic looks for plugins in all packages that are installed."""
    watched = ("pydantic", "pydantic.plugin._loader")
    assert loaded_after("from orbiter import Agent, Swarm, run, tool", watched) == {"pydantic"}


def test_events_and_states_load_no_pydantic() -> None:
    packages = ("runtime/record/state", "runtime/link/client", "runtime/link/wire")
    modules = [module for package in packages for module in modules_of(package)]
    assert "runtime.record.state.durable_run" in modules
    assert loaded_after("import " + ", ".join(modules), ("pydantic", "pydantic_core")) == set()


def test_requests_and_their_codec_load_no_pydantic() -> None:
    """A console has the types of all operations before its first frame."""
    modules = ["runtime.link.client.client", *modules_of("runtime/operations/requests")]
    assert "runtime.operations.requests.codec" in modules
    assert loaded_after("import " + ", ".join(modules), (*HEAVY, "pydantic", "runtime.record.state.events")) == set()


def test_the_first_screen_loads_no_vocabulary_of_events() -> None:
    """The console has its first frame before it has what runs and incidents are read with."""
    modules = ["console.open", "console.app.app", "console.app.startup", "console.demo.tour", "screens.pages.inbox"]
    assert loaded_after("import " + ", ".join(modules), ("pydantic", "runtime.record.state.events")) == set()


def test_a_verb_loads_what_it_needs_alone() -> None:
    """A script asks for runs and incidents again and again: each time in a process of its own."""
    verbs = "console.verbs.runs.runs, console.verbs.decisions.incidents"
    handlers = "runtime.operations.handlers.runs, runtime.operations.operations"
    others = ("runtime.config.loader", "runtime.execution", "runtime.swarms.loader", "orbiter.steps", "rich.table")
    assert loaded_after(f"import {verbs}, {handlers}", others) == set()


def test_incidents_are_listed_without_what_explains_them() -> None:
    """`incidents --json` gives the rows of incidents; the explanations are a report's."""
    others = ("runtime.judgement.reports.explanation.explain", "runtime.execution.secret_vault", "orbiter.models.types")
    listing = "runtime.operations.handlers.answers"
    assert loaded_after(f"import {listing}", (listing, *others)) == {listing}


async def test_a_verb_that_lists_loads_no_event_loop_and_no_events(tmp_path: Path) -> None:
    """It prints what the journal's file has: most of its time would be imports."""
    async with await open_journal(tmp_path) as journal:
        await journal.create(ev.RunCreated(run_id="r1", ref="a.py:b"), Summary(id="r1", ref="a.py:b"))
    code = f"""
import sys
from console.cli import cli
sys.exit = lambda code: None  # a verb ends its process
for verb in ["runs"], ["runs", "--json", "--in", "queued"], ["incidents"], ["incidents", "--json"]:
    cli([*verb, "--state", {str(tmp_path)!r}], standalone_mode=False)
"""
    heavy = {"pydantic", "asyncio", "aiosqlite", "rich.console", "subprocess", "runtime.record.state.events"}
    told = loaded_after(code, (*heavy, "sqlite3"))
    assert {"r1", "queued", "sqlite3"} <= told
    assert not told & heavy


async def test_an_answer_that_the_runtime_takes_loads_no_event_loop_and_no_events(tmp_path: Path) -> None:
    bench = Bench(tmp_path / ".orbiter")
    try:
        driver = await bench.started()
        await driver.incident("i-1")
        await bench.serve()
        code = f"""
import sys
from console.cli import cli
sys.exit = lambda code: None  # a verb ends its process
cli(["answer", "i-1", "retry", "--json", "--state", {str(bench.state_dir)!r}], standalone_mode=False)
"""
        heavy = {"pydantic", "asyncio", "aiosqlite", "rich.console", "sqlite3", "runtime.record.state.events"}
        told = await asyncio.to_thread(loaded_after, code, (*heavy, "msgspec"))
        answered = (await driver.truth()).incidents["i-1"].answer
    finally:
        await bench.close()
    assert answered is not None
    assert '"answered",' in told
    assert not told & heavy


async def test_an_answer_that_the_verb_writes_itself_loads_no_settings(tmp_path: Path) -> None:
    bench = Bench(tmp_path / ".orbiter")
    try:
        driver = await bench.started()
        await driver.incident("i-1")
        code = f"""
import sys
from console.cli import cli
sys.exit = lambda code: None  # a verb ends its process
cli(["answer", "i-1", "retry", "--json", "--state", {str(bench.state_dir)!r}], standalone_mode=False)
"""
        heavy = {"pydantic", "runtime.config.loader", "runtime.swarms.loader", "orbiter.steps", "orbiter.models"}
        told = await asyncio.to_thread(loaded_after, code, (*heavy, "sqlite3"))
        answered = (await driver.truth()).incidents["i-1"].answer
    finally:
        await bench.close()
    assert answered is not None
    assert {'"answered",', "sqlite3"} <= told
    assert not told & heavy


def test_each_request_has_its_handler_in_the_module_of_its_own_name() -> None:
    assert {kind: handler_of(kind) for kind in HANDLERS} == HANDLERS


def test_the_check_notices_what_it_is_there_for() -> None:
    assert loaded_after("import textual.app", HEAVY) >= {"textual", "rich"}
