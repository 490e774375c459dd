"""How properties are tried, and what is said at the end of a run: how often the chaos suite tried each thing. And that
the console goes on after a mishap hides none from its tests.
"""

from __future__ import annotations

import gc
import itertools
import logging
import os
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, settings

from tests.mcp_server import PeerServer, serve_http
from tests.postgres_server import PostgresServer, start_server
from tests.quiet_loop import wait_for_quiet_loop

if TYPE_CHECKING:
    from tests.runtime.chaos.harness import ForkServer

# A loaded machine is not a fault of what is tested: no example is timed, nor is the making of examples. Everybody, CI
# too, tries the same ones, so that a change is what makes a test fail; `--hypothesis-profile explore` looks for more,
# and for new ones.
settings.register_profile(
    "suite", deadline=None, derandomize=True, max_examples=40, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("explore", settings.get_profile("suite"), derandomize=False, max_examples=200)
settings.load_profile("suite")

# Who runs the tests, and where, is not told by what they find: an editor, colours, a theme or a state directory of
# theirs, nor the size of a terminal, which readline, a module that xdist's workers import, puts here too.
for _name in list(os.environ):
    if _name in {"VISUAL", "EDITOR", "NO_COLOR", "COLUMNS", "LINES"} or _name.startswith("ORBITER_"):
        del os.environ[_name]
os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}

LONGEST_CASE_NAME: Final = 100  # characters

# The suite starts hundreds of processes: without bytecode each of them compiles all that it imports.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_MISHAPS = (
    "console.app.app",
    "console.app.error_handling",
    "screens.base.runtime_screen",
    "screens.dialogs.start_form",
)
"""Where the console logs what it survives."""


class _Kept(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)


@pytest.fixture(autouse=True)
def no_mishaps(request: pytest.FixtureRequest) -> Iterator[None]:
    """The console says a mishap in a line and goes on: here it is a failure, but where one is made on purpose."""
    if request.node.get_closest_marker("mishaps"):
        yield
        return
    kept = _Kept()
    for name in _MISHAPS:
        logging.getLogger(name).addHandler(kept)
    try:
        yield
    finally:
        for name in _MISHAPS:
            logging.getLogger(name).removeHandler(kept)
    for record in kept.records:
        if record.exc_info and record.exc_info[1] is not None:
            raise record.exc_info[1]


def pytest_make_parametrize_id(val: object) -> str | None:
    """Names a case by the beginning of a long text or bytes, and the length: reports of failures use this name."""
    if isinstance(val, str | bytes) and len(val) > LONGEST_CASE_NAME:
        return f"{val[:40]!r}... ({len(val)} long)"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collecting makes a million objects that live as long as the process: the garbage collector is not to look through
    them again and again: it took a sixth of the suite's time. Then it looks less often than usual for what the tests
    leave behind, which took an eighth of what a test of a screen takes.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(10_000, 10, 10)
        gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _keys_wait_for_what_they_do() -> Iterator[None]:
    """A pilot's keys do not overtake what the key before them does."""
    with pytest.MonkeyPatch.context() as patched:
        for module in ("textual.app", "textual.pilot"):
            patched.setattr(f"{module}.wait_for_idle", wait_for_quiet_loop)
        yield


@pytest.fixture(scope="session", autouse=True)
def _certificates_are_read_once() -> Iterator[None]:
    """The many clients of loopback servers share a TLS context, which none of them uses: to read the certificates of
    the machine took a fifth of what a test with a vendor's SDK takes.
    """
    with pytest.MonkeyPatch.context() as patched:
        for package in ("httpx", "httpx2"):
            name = f"{package}._transports.default.create_ssl_context"
            patched.setattr(name, cache(resolve_name(name)))
        yield


_numbers = itertools.count()


@pytest.fixture(scope="session")
def postgres(testrun_uid: str, worker_id: str) -> Iterator[PostgresServer]:
    """The test run's server, with a database for this process."""
    server = start_server(f"orbiter-pg-{testrun_uid[:12]}")
    server.make_database(f"tests_{worker_id}")
    yield server
    server.close()


@pytest.fixture(scope="session")
def own_server(testrun_uid: str, worker_id: str) -> Iterator[PostgresServer]:
    """A server of this process alone, which a test may stop."""
    server = start_server(f"orbiter-pg-{testrun_uid[:12]}-{worker_id}")
    yield server
    server.start_again()
    server.close()


@pytest.fixture(scope="session")
def mcp_peer() -> Iterator[PeerServer]:
    """An MCP server over HTTP, for all tests of this process."""
    with serve_http() as server:
        yield server


@pytest.fixture(scope="session")
def fork_server() -> Iterator[ForkServer]:
    """The process from which lives of runtimes are forked, for all tests of this process."""
    from tests.runtime.chaos.harness import ForkServer

    server = ForkServer()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres: PostgresServer, worker_id: str) -> str:
    """The address of a workspace that is not there yet."""
    return postgres.url(f"tests_{worker_id}", f"w{os.getpid()}-{next(_numbers)}")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    tried: Counter[str] = Counter()
    for outcome in ("passed", "failed"):
        for report in terminalreporter.stats.get(outcome, ()):
            for name, found in getattr(report, "user_properties", ()):
                if name == "tried":
                    tried[found[0]] += found[1]
    if tried:
        terminalreporter.section("chaos: how often each was tried")
        for what, times in sorted(tried.items()):
            terminalreporter.write_line(f"{times:6}  {what}")
