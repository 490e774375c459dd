"""Guests: agents of other frameworks, run as they are.

`guest` takes an agent that was written for another framework and gives what can be run and what can stand in a `Swarm`.
Under a runtime its model and tool calls are steps: recorded, recalled after a crash, and decided by an operator when
they fail. Under plain `run` the framework behaves as it does alone. A framework is imported only when an agent of it is
run.

Imports `orbiter`, `orbiter._internal.loop`, `pydantic` and `pydantic_core`.
"""

from __future__ import annotations

from orbiter.guests.guest import Guest, guest

__all__ = ["Guest", "guest"]
