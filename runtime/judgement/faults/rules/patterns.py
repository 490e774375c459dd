"""The regular expressions of rules: given as one or as a list, and shared ones called by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

_CALL = re.compile(r"\(\?&([^)]*)\)")


def read_packaged(name: str) -> dict[str, Any]:
    """A TOML file of this package."""
    import tomllib  # with the first failure, not with the program

    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


@lru_cache(maxsize=1)
def shared_patterns() -> Mapping[str, str]:
    """The patterns of `patterns.toml` by name."""
    return {name: "|".join(alternatives) for name, alternatives in read_packaged("patterns.toml").items()}


def join_alternatives(given: Any) -> Any:
    """A list of patterns as one that any of them matches, and ``(?&NAME)`` as the shared pattern of that name.

    Raises:
        ValueError: no shared pattern has that name.
    """
    if isinstance(given, list | tuple) and all(isinstance(each, str) for each in given):
        given = "|".join(given)
    return _CALL.sub(_shared, given) if isinstance(given, str) and "(?&" in given else given


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str) -> re.Pattern[str]:
    """`pattern` without regard to case.

    Raises:
        re.error: it is not a regular expression.
    """
    return re.compile(pattern, re.IGNORECASE)


def _shared(call: re.Match[str]) -> str:
    known = shared_patterns()
    if call[1] not in known:
        raise ValueError(f"no shared pattern is named '{call[1]}'; there are: {', '.join(known)}")
    return f"(?:{known[call[1]]})"
