"""A link that lives in memory: runs told event by event, folded by the real fold, answered by the real events."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from runtime.link.client.client import (
    LinkError,
    LinkLost,
    LinkQuality,
    LinkStatus,
)
from runtime.link.client.streamed_text import StreamedText
from runtime.link.wire.protocol import InboxRow, Role
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Summary
from tests.screens.stories import START, Story


class Desk:
    """What `screens.shell.context.Link` wants. `said` keeps what was commanded."""

    def __init__(self, *stories: Story) -> None:
        self.stories = {story.run_id: story for story in stories}
        self.status = LinkStatus("connected")
        self.qualities: tuple[LinkQuality, ...] = ()
        self.ready = True
        self.watched: list[str] = []
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.revived = 0
        self.streamed: dict[tuple[str, str], StreamedText] = {}
        self.cannot_revive = ""
        self.overtaken: Callable[[], None] = lambda: None
        """Called when a command has come in and before it is looked at: somebody else was faster."""
        self.needs_login = False
        self.role: Role = "operator"
        self.position: object = 0
        self.grants: dict[str, ev.GrantAdded] = {}
        self.logins = 0
        self.hosts: dict[str, str] = {}
        self.host_names: tuple[str, ...] = ("",)
        self.refs: list[str] = []
        self.precedent: dict[str, Any] = {}
        self.refuses: dict[str, str] = {}
        """Verbs that are refused, with the reason."""
        self._listeners: list[Callable[[], None]] = []

    @property
    def now(self) -> datetime:
        return max((story.at for story in self.stories.values()), default=START)

    @property
    def summaries(self) -> Mapping[str, Summary]:
        return {run_id: story.state.summary() for run_id, story in self.stories.items()}

    @property
    def incidents(self) -> Mapping[str, InboxRow]:
        return {
            found.opened.incident_id: InboxRow(run_id=story.run_id, title=story.title, opened=found.opened)
            for story in self.stories.values()
            for found in story.state.open_incidents
        }

    def run(self, run_id: str) -> DurableRun | None:
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

    def host_of(self, run_id: str) -> str:
        return self.hosts.get(run_id, "")

    def login(self) -> None:
        self.logins += 1

    def changed(self) -> None:
        """Something is another: all who listen hear of it."""
        self.position = object()
        for listener in list(self._listeners):
            listener()

    def lose(self, reason: str) -> None:
        self.status = LinkStatus("lost", reason)
        self.changed()

    async def command(self, verb: str, /, **args: Any) -> Any:
        """Answers are events of the story; what has been answered is refused, with who was first."""
        if verb != "preview":  # it only looks
            self.said.append((verb, args))
        if self.status.phase == "lost" and not any(self.host_names):
            raise LinkLost(self.status.reason)
        if verb == "preview":
            return {"sentence": "would have matched 3 past actions and 1 pending"}
        if verb in self.refuses:
            raise LinkError(self.refuses[verb])
        if verb == "swarms":
            return {"root": "/work", "refs": self.refs}
        if verb == "check":
            return {"ref": args["ref"]}
        if verb == "start":
            story = Story(f"started-{len(self.stories)}", args.get("title") or args["ref"], self.now)
            story.begin(args["input"], **args.get("options", {}))
            self.stories[story.run_id] = story
            self.changed()
            return {"run_id": story.run_id}
        if verb == "precedent":
            return self.precedent
        if verb == "answer_like":
            return [self.answered(found, args) for found in args["only"]]
        if verb in ("freeze", "thaw", "abort"):
            for run_id in [args["run_id"]] if "run_id" in args else list(self.stories):
                self.control(verb, run_id)
            return {}
        if verb != "answer":
            raise LinkError(f"this desk knows no {verb}")
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

    def answered(self, incident_id: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """One of several that get the same answer, and what came of it."""
        story = next(story for story in self.stories.values() if incident_id in story.state.incidents)
        row = {"id": incident_id, "run_id": story.run_id}
        if not story.state.incidents[incident_id].open:
            return {**row, "state": "refused", "detail": "ada answered 'deny' at 09:00:00"}
        story.answer(incident_id, args["option"], **args["params"])
        self.changed()
        return {**row, "state": "went on", "detail": "succeeded"}

    def control(self, verb: str, run_id: str) -> None:
        """A run is frozen, thawed or aborted, by the events that say so; not one that has ended."""
        story = self.stories[run_id]
        if story.state.terminal:
            raise LinkError(f"run {run_id} has ended: it is {story.state.phase}")
        story.tell({"freeze": ev.RunFrozen, "thaw": ev.RunThawed, "abort": ev.AbortRequested}[verb]())
        self.changed()

    async def close(self) -> None:
        """Nothing to close."""

    async def revive(self) -> None:
        if self.cannot_revive:
            raise LinkLost(self.cannot_revive)
        self.revived += 1
        self.status = LinkStatus("connected")
        self.changed()
