"""Actions that needed a permission, as types. Structs of msgspec: screens have them before the first event is read."""

from __future__ import annotations

from msgspec import Struct

from runtime.record.state.clock import Instant


class PermittedAction(Struct, frozen=True, kw_only=True):
    """Something that was done, or waits to be, and needed a permission. `state` is that of its node."""

    run_id: str
    node_id: str
    agent: str
    need: str
    state: str
    pending: bool
    at: Instant | None = None


class CoveredActions(Struct, frozen=True, kw_only=True):
    """What the words of a grant cover, the latest action last."""

    past: tuple[PermittedAction, ...] = ()
    pending: tuple[PermittedAction, ...] = ()

    def sentence(self) -> str:
        """For the grant's line: ``would have matched 3 past actions and 1 pending``."""
        past = f"{len(self.past)} past action{'' if len(self.past) == 1 else 's'}"
        return f"would have matched {past} and {len(self.pending)} pending"
