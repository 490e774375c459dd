"""What a runtime imports or reads only when it needs it, loaded while the program is still the one that was started.

When the package is upgraded, the files of a runtime that works are replaced. A module that it imports after that would
be the new program's, and would not fit those it has; so would the classifier's rules. Adapters of vendors' SDKs are
left out: each is imported with the first model that needs it.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

import orbiter
import orbiter._internal
import runtime.judgement
from runtime.judgement.faults.rules.builtin import builtin_rules
from runtime.judgement.faults.rules.patterns import shared_patterns


def import_late_modules() -> None:
    """Import the framework and the judgement whole, and read the classifier's rules. Takes about 0.1 s, once."""
    names = [f"orbiter.{found.name}" for found in pkgutil.iter_modules(orbiter.__path__) if not found.ispkg]
    for package in (orbiter._internal, runtime.judgement):
        names += [found.name for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    for name in names:
        import_module(name)
    builtin_rules()
    shared_patterns()
