"""A link that lives in memory: runs told event by event, folded by the real fold, answered by the real events."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar

import msgspec

from orbiter.redaction import Redactor
from runtime.judgement.comparison.file_write import FileComparison, compare_write, written_text
from runtime.judgement.comparison.run_comparison import compare_runs
from runtime.judgement.reports.export_file import FORMAT, ExportHeader, export_lines
from runtime.link.client.client import (
    LinkError,
    LinkLost,
    LinkQuality,
    LinkStatus,
    PictureProgress,
)
from runtime.link.client.streamed_text import StreamedText
from runtime.operations.requests.codec import InvalidField, decode_result, encode
from runtime.operations.requests.runs import RunMatch
from runtime.operations.requests.struct import Request
from runtime.record.inbox_row import InboxRow
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Summary
from runtime.record.state.operator_terms import Role
from runtime.record.state.workspace_events import GrantAdded
from tests.screens.stories import START, Story

PREVIEW = {
    "grant": {"subject": "*", "verb": "fs.write", "pattern": "", "lifetime": "run"},
    "sentence": "would have matched 3 past actions and 1 pending",
}
TAKEN = {
    "state": "answered", "run_id": "", "params": {}, "reach": "attempt", "reason": "", "by": {}, "ts": START.isoformat()
}  # fmt: skip
R = TypeVar("R")


class MemoryLink:
    """What `screens.shell.context.Link` wants. `said` keeps what was commanded."""

    def __init__(self, *stories: Story) -> None:
        self.stories = {story.run_id: story for story in stories}
        self.status = LinkStatus("connected")
        self.qualities: tuple[LinkQuality, ...] = ()
        self.ready = True
        self.loading: dict[str, PictureProgress] = {}
        self.watched: list[str] = []
        self.said: list[tuple[str, dict[str, Any]]] = []
        self.revived = 0
        self.streamed: dict[tuple[str, str], StreamedText] = {}
        self.cannot_revive = ""
        self.overtaken: Callable[[], None] = lambda: None
        """Called when a command has come in and before it is looked at: another operator was faster."""
        self.needs_login = False
        self.role: Role = "operator"
        self.position: object = 0
        self.grants: dict[str, GrantAdded] = {}
        self.logins = 0
        self.hosts: dict[str, str] = {}
        self.host_names: tuple[str, ...] = ("",)
        self.keys: tuple[str, ...] = ()
        self.refs: list[str] = []
        self.workers: dict[str, Any] = {}
        self.kinds: dict[str, str] = {}
        self.hints: dict[str, str] = {}
        self.precedent: dict[str, Any] | None = None
        self.files: dict[str, bytes] = {}
        """Files of the runtime's machine, by their paths."""
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
        return "" if run_id in self.stories else f"unknown run {run_id}"

    def text(self, run_id: str, node_id: str) -> StreamedText | None:
        return self.streamed.get((run_id, node_id))

    def subscribe(self, listener: Callable[[], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def watch(self, run_id: str) -> None:
        self.watched.append(run_id)

    def unwatch(self, run_id: str) -> None:
        self.watched.remove(run_id)

    def provider_keys(self, _run_id: str) -> tuple[str, ...]:
        return self.keys

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

    async def ask(self, request: Request[R], /, *, where: str = "") -> R:
        """As over a wire: the request as JSON, and its result from JSON."""
        sent: dict[str, Any] = json.loads(json.dumps(encode(request)))
        args = sent | ({"where": where} if where else {})
        try:
            return decode_result(request, await self.command(request.verb, **args))
        except InvalidField as exc:
            raise LinkError(f"the answer to {request.verb!r} cannot be read: {exc}") from exc

    def exported(self, run_id: str) -> str:
        """The export of a story, as the runtime writes it."""
        header = ExportHeader(orbiter_export=FORMAT, run_id=run_id, exported_at=self.now)
        return "\n".join(export_lines(self.stories[run_id].events, header, Redactor())) + "\n"

    async def command(self, verb: str, /, **args: Any) -> Any:
        """Answers are events of the story; what has been answered is refused, with who was first."""
        if verb not in ("preview", "swarms", "search", "compare_write", "workers"):  # they only look
            self.said.append((verb, args))
        if self.status.phase == "lost" and not any(self.host_names):
            raise LinkLost(self.status.reason)
        if verb == "preview":
            return PREVIEW
        if verb == "compare_write":
            return msgspec.to_builtins(self.comparison(args["incident_id"]))
        if verb == "search":
            return [msgspec.to_builtins(found) for found in self.search(args["text"])]
        if verb in self.refuses:
            raise LinkError(self.refuses[verb])
        if verb == "swarms":
            return {"root": "/work", "refs": self.refs, "kinds": self.kinds, "hints": self.hints}
        if verb == "workers":
            return self.workers
        if verb == "check":
            return {"ref": args["ref"]}
        if verb == "start":
            story = Story(f"started-{len(self.stories)}", args.get("title") or args["ref"], self.now)
            story.begin(args.get("input", ""), **args.get("options", {}))
            self.stories[story.run_id] = story
            self.changed()
            return {"id": story.run_id, "state": "queued"}
        if verb == "precedent":
            return self.precedent
        if verb == "answer_like":
            return [self.answered(found, args) for found in args["only"]]
        if verb in ("freeze", "thaw", "abort"):
            chosen = [args["run_id"]] if "run_id" in args else list(self.stories)
            done = [self.control(verb, run_id) for run_id in chosen]
            return done[0] if verb == "abort" else done
        if verb == "diff":
            left, right = (self.story(args[side]) for side in ("left", "right"))
            return msgspec.to_builtins(compare_runs(left.state, right.state))
        if verb == "export":
            return {"text": self.exported(args["run_id"])}
        if verb != "answer":
            raise LinkError(f"this link knows no {verb}")
        self.overtaken()
        incident_id = args["incident_id"]
        for story in self.stories.values():
            incident = story.state.incidents.get(incident_id)
            if incident is not None:
                if incident.answer is not None:
                    raise LinkError(f"{incident.answer.by.name} was first and answered {incident.answer.option}")
                story.answer(incident_id, args["option"], **args.get("params", {}))
        self.changed()
        return {**TAKEN, "id": incident_id, "option": args["option"]}

    def comparison(self, incident_id: str) -> FileComparison:
        """The file of `files` beside what a permission would write to it."""
        written = written_text(self.incidents[incident_id].opened.action)
        assert written is not None
        before = self.files.get(written.path)
        return compare_write(written, before, size=len(before or b""))

    def story(self, run_id: str) -> Story:
        if run_id not in self.stories:
            raise LinkError(f"unknown run {run_id}")
        return self.stories[run_id]

    def search(self, text: str) -> Iterator[RunMatch]:
        """Runs that have the words in their input, output or error."""
        for story in reversed(list(self.stories.values())):
            said = f"{story.state.input}\n{story.state.output}\n{story.state.error}".lower()
            if all(word in said for word in text.lower().split()):
                yield RunMatch(**msgspec.structs.asdict(story.state.summary().public()), found_in="input")

    def answered(self, incident_id: str, args: Mapping[str, Any]) -> dict[str, Any]:
        """One of several that get the same answer, and what came of it."""
        story = next(story for story in self.stories.values() if incident_id in story.state.incidents)
        row = {"id": incident_id, "run_id": story.run_id}
        if not story.state.incidents[incident_id].open:
            return {**row, "state": "refused", "detail": "ada answered 'deny' at 09:00:00"}
        story.answer(incident_id, args["option"], **args.get("params", {}))
        self.changed()
        return {**row, "state": "went on", "detail": "succeeded"}

    def control(self, verb: str, run_id: str) -> dict[str, Any]:
        """A run is frozen, thawed or aborted, by the events that say so; not one that has ended."""
        story = self.stories[run_id]
        if story.state.terminal:
            raise LinkError(f"run {run_id} has ended: it is {story.state.phase}")
        story.tell({"freeze": ev.RunFrozen, "thaw": ev.RunThawed, "abort": ev.AbortRequested}[verb]())
        self.changed()
        return {"id": run_id, "state": story.state.shown_phase}

    async def close(self) -> None:
        """Nothing to close."""

    async def revive(self) -> None:
        if self.cannot_revive:
            raise LinkLost(self.cannot_revive)
        self.revived += 1
        self.status = LinkStatus("connected")
        self.changed()
