"""How properties are tried, and what is said at the end of a run: how often the chaos suite tried each thing. And that
the console goes on after a mishap hides none from its tests.
"""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine is no fault of what is tested: no example is timed, nor is the making of examples. Everybody, CI too,
# tries the same ones, so that a change is what makes a test fail; `--hypothesis-profile explore` looks for new ones.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", settings.get_profile("suite"), derandomize=False)
settings.load_profile("suite")

# Who runs the tests, and where, is not told by what they find: an editor, colours, a theme or a state directory of
# theirs, nor the size of a terminal, which readline, a module that xdist's workers import, puts here too.
for _name in list(os.environ):
    if _name in {"VISUAL", "EDITOR", "NO_COLOR", "COLUMNS", "LINES"} or _name.startswith("ORBITER_"):
        del os.environ[_name]

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
