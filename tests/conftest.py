"""What is said at the end of a run: how often the chaos suite tried each thing."""

from __future__ import annotations

from collections import Counter

import pytest


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
