"""A link that also answers what the screens of permissions, limits, log and audit ask, from what stories tell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.link.client.client import LinkError, LinkLost
from runtime.operations.log_lines import shorten_event
from runtime.record.state import events as ev
from runtime.record.state.events import event_fields
from tests.screens.memory_link import MemoryLink
from tests.screens.stories import Story


class ListLink(MemoryLink):
    """`answers` by verb, or functions of the arguments. The log is made of the stories' events and of `workspace`."""

    def __init__(self, *stories: Story, **answers: Any) -> None:
        super().__init__(*stories)
        self.answers: dict[str, Any] = {
            "permissions": NOTHING,
            "breakers": [],
            "budgets": [],
            "audit": [],
            "workers": {},
            **answers,
        }
        self.workspace: list[ev.JournalEvent] = []

    @property
    def events(self) -> list[ev.JournalEvent]:
        found = [event for story in self.stories.values() for event in story.events] + self.workspace
        return sorted(found, key=lambda event: event.ts)

    async def command(self, verb: str, /, **args: Any) -> Any:
        if self.status.phase == "lost":
            raise LinkLost(self.status.reason)
        if verb == "log":
            return self.log(**args)
        if verb == "events":
            found = [
                event for event in self.events if event.run_id == args["run_id"] and event.seq > args.get("after", 0)
            ]
            return [event_fields(event) for event in found[: args.get("limit", 500)]]
        if verb not in self.answers:
            return await super().command(verb, **args)
        if verb in ("revoke", "reset", "move"):
            self.said.append((verb, args))
        answer = self.answers[verb]
        if isinstance(answer, Exception):
            raise answer
        return answer(**args) if isinstance(answer, Callable) else answer  # type: ignore[arg-type]

    def log(
        self, *, where: str = "", run_id: str = "", after: int = 0, before: int | None = None, limit: int = 500
    ) -> list[dict[str, Any]]:
        placed = [(at, event) for at, event in enumerate(self.events, 1) if not run_id or event.run_id == run_id]
        if run_id:
            placed = [(event.seq, event) for _, event in placed]
        found = [each for each in placed if each[0] > after and (before is None or each[0] < before)]
        return [{"at": at, "event": shorten_event(event)} for at, event in found[-limit:]]

    def revoke(self, *, grant_id: str) -> dict[str, Any]:
        """The grant goes when its event is told: see `gone`."""
        if grant_id not in self.grants:
            raise LinkError(f"grant {grant_id} is not in force")
        return {"id": grant_id, "state": "revoked"}

    def gone(self, grant_id: str) -> None:
        """The event of a revocation has come in."""
        del self.grants[grant_id]
        self.changed()


NOTHING: dict[str, Any] = {"version": 1, "grants": [], "recent": [], "rules": []}
