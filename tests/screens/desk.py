"""A link that lives in memory: runs told event by event, folded by the real fold, answered by the real events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from runtime.link.client import LinkError, LinkLost, Status
from runtime.link.protocol import Inboxed
from runtime.link.view import StreamedText
from runtime.record.state import RunState, Summary
from tests.screens.stories import START, Story


class Desk:
    """What `screens.link.Link` wants. `said` keeps what was commanded."""

    def __init__(self, *stories: Story) -> None:
        self.stories = {story.run_id: story for story in stories}
        self.status = Status("connected")
        self.ready = True
        self.watched: list[str] = []
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.revived = 0
        self.streamed: dict[tuple[str, str], StreamedText] = {}
        self.cannot_revive = ""
        self.overtaken: Callable[[], None] = lambda: None
        """Called when a command has come in and before it is looked at: somebody else was faster."""
        self.asks = False
        self.logins = 0
        self.hosts: dict[str, str] = {}
        self._listeners: list[Callable[[], None]] = []

    @property
    def now(self) -> datetime:
        return max((story.at for story in self.stories.values()), default=START)

    @property
    def summaries(self) -> Mapping[str, Summary]:
        return {run_id: story.state.summary() for run_id, story in self.stories.items()}

    @property
    def incidents(self) -> Mapping[str, Inboxed]:
        return {
            found.opened.incident_id: Inboxed(run_id=story.run_id, title=story.title, opened=found.opened)
            for story in self.stories.values()
            for found in story.state.open_incidents
        }

    def run(self, run_id: str) -> RunState | None:
        return self.stories[run_id].state if run_id in self.watched and run_id in self.stories else None

    def problem(self, run_id: str) -> str:
        return "" if run_id in self.stories else f"there is no run {run_id}"

    def text(self, run_id: str, node_id: str) -> StreamedText | None:
        return self.streamed.get((run_id, node_id))

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def watch(self, run_id: str) -> None:
        self.watched.append(run_id)

    def unwatch(self, run_id: str) -> None:
        self.watched.remove(run_id)

    def where(self, run_id: str) -> str:
        return self.hosts.get(run_id, "")

    def login(self) -> None:
        self.logins += 1

    def changed(self) -> None:
        for listener in list(self._listeners):
            listener()

    def lose(self, reason: str) -> None:
        self.status = Status("lost", reason)
        self.changed()

    async def command(self, verb: str, /, **args: Any) -> Any:
        """Answers are events of the story; what has been answered is refused, with who was first."""
        if verb != "preview":  # it only looks
            self.said.append((verb, args))
        if self.status.phase == "lost":
            raise LinkLost(self.status.reason)
        if verb == "preview":
            return {"sentence": "would have matched 3 past actions and 1 pending"}
        assert verb == "answer"
        self.overtaken()
        incident_id = args["incident_id"]
        for story in self.stories.values():
            incident = story.state.incidents.get(incident_id)
            if incident is not None:
                if incident.answer is not None:
                    raise LinkError(f"{incident.answer.by.name} was first and answered {incident.answer.option}")
                story.answer(incident_id, args["option"], **args["params"])
        self.changed()
        return {}

    async def close(self) -> None:
        """Nothing to close."""

    async def revive(self) -> None:
        if self.cannot_revive:
            raise LinkLost(self.cannot_revive)
        self.revived += 1
        self.status = Status("connected")
        self.changed()
