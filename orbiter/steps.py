"""The seam between the framework and a runtime: scope, step, fault, turn.

Four verbs, all methods of `Scope`: `scope` (a node opens and closes), `step` (an effect on the world),
`fault` (a node failed outside a step) and `turn` (where breakpoints and injected messages act).

Plain ``await run(agent, …)`` uses `DIRECT`, the scope that does nothing of its own: it calls, retries as
seed 000 says, and raises. A durable runtime brings its own `Scope` and places it with `entered`; framework
code is the same under both. Nothing here knows of journals, and nothing in a runtime knows of agents.
"""

from __future__ import annotations

from orbiter._internal.seam.authors import asked_of, author_around, with_authors
from orbiter._internal.seam.current_scope import at, current, entered, inside, opening
from orbiter._internal.seam.direct_scope import DIRECT, DirectScope, back_off, log_success, sleep
from orbiter._internal.seam.errors_around import (
    RUN_KEY,
    SWARM_KEY,
    errors_as_json,
    errors_of_run,
    errors_of_swarm,
    plain_retry_delay,
)
from orbiter._internal.seam.scope import Scope, ScopeKind
from orbiter._internal.seam.signals import HELD_BACK, Aborted, Answer, HandedBack, Skipped
from orbiter._internal.seam.step import NO_TRAITS, Codec, Emit, Place, Step, StepKind, Traits, segment

__all__ = [
    "DIRECT",
    "HELD_BACK",
    "NO_TRAITS",
    "RUN_KEY",
    "SWARM_KEY",
    "Aborted",
    "Answer",
    "Codec",
    "DirectScope",
    "Emit",
    "HandedBack",
    "Place",
    "Scope",
    "ScopeKind",
    "Skipped",
    "Step",
    "StepKind",
    "Traits",
    "asked_of",
    "at",
    "author_around",
    "back_off",
    "current",
    "entered",
    "errors_as_json",
    "errors_of_run",
    "errors_of_swarm",
    "inside",
    "log_success",
    "opening",
    "plain_retry_delay",
    "segment",
    "sleep",
    "with_authors",
]

for _name in __all__:
    # They are known and shown by the name under which they are imported.
    if isinstance(_found := globals()[_name], type):
        _found.__module__ = __name__
