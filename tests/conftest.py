"""How properties are tried, and what is said at the end of a run: how often the chaos suite tried each thing."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, settings

# A loaded machine is no fault of what is tested: no example is timed, nor is the making of examples. Everybody, CI too,
# tries the same ones, so that a change is what makes a test fail; `--hypothesis-profile explore` looks for new ones.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("explore", settings.get_profile("suite"), derandomize=False)
settings.load_profile("suite")


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
