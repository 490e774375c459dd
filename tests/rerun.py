"""The test suite, and a second run of the few tests that failed in it: ``python -m tests.rerun PYTEST_ARGUMENTS``.

The suite starts hundreds of real processes, terminals and sockets, on machines that others load too. A test that fails
there and passes alone is a defect, and is mended: it is named at the end. But it does not hide the outcome of the
12,000 others. What fails again fails the command, with pytest's exit code; so does a test that was never reported,
because its process ended.

CPython's own suite does the same (``python -m test --rerun``).
"""

from __future__ import annotations

import compileall
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

MOST = 20
"""Where more tests than these failed, the machine is not the reason, and nothing is run again."""
LAST_FAILED = Path(".pytest_cache", "v", "cache", "lastfailed")
LOST = LAST_FAILED.with_name("lost")
TESTS_FAILED = int(pytest.ExitCode.TESTS_FAILED)


def main(arguments: Sequence[str]) -> int:
    """Run pytest with `arguments` in the working directory, and once more those that failed, one after the other.

    Returns:
        The exit code of pytest: 0 where each test passed, at the latest in the second run.
    """
    code = _pytest("--cache-clear", *arguments)
    failed = _last_failed()
    if code != TESTS_FAILED or not 0 < len(failed) <= MOST or LOST.exists():
        return code
    print(f"\n{len(failed)} failed: run again, alone", flush=True)
    again = _pytest(*arguments, "-n", "0", "--last-failed", "--last-failed-no-failures", "none")
    if again not in (0, TESTS_FAILED):
        return again if again != pytest.ExitCode.NO_TESTS_COLLECTED else code
    still = _last_failed()
    for name in sorted(failed - still):
        print(f"FLAKY (to be mended): {name}", flush=True)
    for name in sorted(still):
        print(f"FAILED again: {name}", flush=True)
    return again


def _pytest(*arguments: str) -> int:
    with subprocess.Popen([sys.executable, "-m", "pytest", "-p", "tests.rerun", *arguments]) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:  # it was told too, and says what it has found until now
                continue


def _last_failed() -> set[str]:
    return set(json.loads(LAST_FAILED.read_text(encoding="utf-8"))) if LAST_FAILED.exists() else set()


# -- as a plugin of pytest ---------------------------------------------------------------------------------------------


class _Lost:
    """Tests that xdist gave to a worker and had no report of."""

    def __init__(self) -> None:
        self._reported: set[str] = set()
        self._lost: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._reported.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        distributing = session.config.pluginmanager.get_plugin("dsession")
        if distributing is None or session.exitstatus == pytest.ExitCode.INTERRUPTED:
            return
        if session.shouldstop or session.shouldfail:
            return
        collected = getattr(distributing.sched, "collection", None)
        # There are no names where its workers did not agree on them.
        self._lost = sorted(set(collected) - self._reported) if collected is not None else ["all, in doubt"]
        if self._lost:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
            session.config.cache.set(f"cache/{LOST.name}", self._lost)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in self._lost[:MOST]:
            terminalreporter.write_line(f"NOT RUN: {name}")
        if len(self._lost) > MOST:
            terminalreporter.write_line(f"NOT RUN: {len(self._lost) - MOST} more")


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Before workers are started: each of them would compile all tests, at the same time as the others."""
    if session.config.getoption("numprocesses", None):
        _compile_tests(session.config)


def _compile_tests(config: pytest.Config) -> None:
    """Compile what never was; pytest compiles modules of tests in its own way."""
    state = config.stash[rewrite.assertstate_key]
    for path in (path for place in config.getini("testpaths") for path in (config.rootpath / place).rglob("*.py")):
        if not path.stem.startswith("test_") and path.stem != "conftest":
            compileall.compile_file(path, quiet=2)
            continue
        compiled = rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"
        if not compiled.exists() and rewrite.try_makedirs(compiled.parent):
            with suppress(SyntaxError):  # a worker tells of it when it collects the module
                stat, code = rewrite._rewrite_test(path, config)
                rewrite._write_pyc(state, code, stat, compiled)


def pytest_configure(config: pytest.Config) -> None:
    # Where a part of the tests is run, syrupy takes the snapshots of the others for unused, and fails the command.
    if hasattr(config.option, "warn_unused_snapshots"):
        config.option.warn_unused_snapshots = True
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Lost())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
