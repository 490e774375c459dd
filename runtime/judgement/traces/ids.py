"""Ids of traces and spans, derived from what the journal has: sent twice, a span has the same ids both times.

A trace is a run. A span's id comes from the run, the node's path and what tells apart the times that the node was
there: the attempt, and how often the run had been turned back.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache


@lru_cache(maxsize=512)
def trace_id(run_id: str) -> int:
    """128 bits, never 0."""
    return _digest(16, "run", run_id)


def root_span_id(run_id: str, ends: int = 0) -> int:
    """The run's own span. `ends`: how often the run had ended before, where it was turned back after its end."""
    return _digest(8, "run", run_id, str(ends)) if ends else _digest(8, "run", run_id)


def node_span_id(run_id: str, path: str, rewinds: int) -> int:
    """The span of a node that is open; `rewinds`: how often the run had been turned back when it opened."""
    return _digest(8, "node", run_id, path, str(rewinds))


def attempt_span_id(run_id: str, path: str, attempt: int, rewinds: int) -> int:
    """The span of one attempt of a step; `rewinds` as above, when it began."""
    return _digest(8, "attempt", run_id, path, str(attempt), str(rewinds))


def incident_span_id(run_id: str, incident_id: str) -> int:
    """The span of an incident, from its opening to its answer."""
    return _digest(8, "incident", run_id, incident_id)


def analysis_span_id(run_id: str, incident_id: str, seq: int) -> int:
    """The span of a model that was asked about an incident; `seq`: the event that says what it said."""
    return _digest(8, "analysis", run_id, incident_id, str(seq))


def _digest(size: int, *parts: str) -> int:
    text = "\0".join(parts).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=size).digest(), "big") or 1
