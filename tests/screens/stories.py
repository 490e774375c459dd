"""Runs that are told event by event: the real events, through the real fold. Nothing here makes up a state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from orbiter.steps import Place, segment
from runtime.judgement.recovery.options import make_option
from runtime.record.inbox_row import InboxRow
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Summary
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Effect,
    Impact,
    Origin,
    Persistence,
)

_GRANT = ("grant", "deny", "skip", "abort")
_ASK = ("input", "skip", "abort")
_DOUBT = ("result", "retry", "skip", "abort")
_MODEL = ("wait_retry", "retry", "switch_model", "result", "skip", "abort")
_TOOL = ("retry", "edit", "result", "skip", "abort")
"""Which options a runtime offers when is its own business; a story is told with these."""

START = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)


@dataclass
class Story:
    """One run in the making. `at` is the time of the next event; `wait` lets time pass."""

    run_id: str = "run-1"
    title: str = "weekly digest"
    at: datetime = START
    state: DurableRun = field(default_factory=DurableRun)
    events: list[ev.JournalEvent] = field(default_factory=list)

    def tell(self, event: ev.JournalEvent, node_id: str = "", parent_id: str = "") -> ev.JournalEvent:
        told = replace(
            event, seq=len(self.events) + 1, run_id=self.run_id, ts=self.at, node_id=node_id, parent_id=parent_id
        )
        self.events.append(told)
        before = self.state.anomalies
        self.state.apply(told)
        assert self.state.anomalies == before, f"the fold does not take {told!r}"
        return told

    def wait(self, seconds: float) -> Story:
        self.at += timedelta(seconds=seconds)
        return self

    def begin(self, task: str = "Write the digest of this week's releases.", **options: Any) -> str:
        """The run and its root; the root's id."""
        self.tell(ev.RunCreated(ref="/work/digest.py:swarm", title=self.title, input=task, options=options))
        self.tell(ev.RunStarted(epoch=1, owner="runtime-1"))
        return self.open("swarm", self.title.replace(" ", "_"))

    def open(self, kind: Any, name: str, parent: str = "", at: int = 0, **info: Any) -> str:
        node_id = "/".join(part for part in (parent, segment(name, Place(at))) if part)
        self.tell(ev.NodeOpened(kind=kind, name=name, info=info), node_id, parent)
        return node_id

    def close(self, node_id: str, state: Any = "succeeded", output: str = "", error: str = "") -> None:
        self.tell(ev.NodeClosed(state=state, output=output, error=error), node_id, node_id.rpartition("/")[0])

    def start(
        self, kind: Any, name: str, parent: str, at: int = 0, *, attempt: int = 1, agent: str = "", **requested: Any
    ) -> str:
        node_id = f"{parent}/{segment(name, Place(at))}"
        started = ev.StepStarted(
            kind=kind, name=name, agent=agent or "researcher", requested=requested, attempt=attempt, epoch=1
        )
        self.tell(started, node_id, parent)
        return node_id

    def end(
        self, node_id: str, result: Any = None, *, tokens: tuple[int, int] = (0, 0), usd: float | None = None
    ) -> None:
        ended = ev.StepEnded(
            attempt=1, result=result, input_tokens=tokens[0], output_tokens=tokens[1], cost_usd=usd, seconds=1.0
        )
        self.tell(ended, node_id, node_id.rpartition("/")[0])

    def fail(self, node_id: str, fault: Classification, attempt: int = 1) -> None:
        self.tell(ev.StepEnded(attempt=attempt, fault=fault), node_id, node_id.rpartition("/")[0])

    def retry(self, node_id: str, delay_s: float, attempt: int = 2) -> None:
        scheduled = ev.RetryScheduled(
            attempt=attempt,
            max_attempts=4,
            delay_s=delay_s,
            until=self.at + timedelta(seconds=delay_s),
            source="backoff",
        )
        self.tell(scheduled, node_id, node_id.rpartition("/")[0])

    def park(
        self,
        node_id: str,
        fault: Classification,
        *,
        message: str = "",
        action: Mapping[str, Any] | None = None,
        need: str = "",
        question: str = "",
        in_doubt: bool = False,
        incident_id: str = "",
        task: str = "",
        traceback: str = "",
        fingerprint: str = "",
        options: Sequence[ev.Option] = (),
        **more: Any,
    ) -> str:
        """An incident at a node; its id. `options`: those of a runtime (`options_for`), where a test wants them."""
        node = self.state.nodes[node_id]
        offered = (
            _GRANT if need else _ASK if question else _DOUBT if in_doubt else _MODEL if node.kind == "llm" else _TOOL
        )
        told = tuple(make_option(name, hint=need if name == "grant" else "") for name in offered)
        incident_id = incident_id or f"{self.run_id}-inc-{len(self.state.incidents) + 1}"
        opened = ev.IncidentOpened(
            incident_id=incident_id,
            fault=fault,
            error_type=fault.exception,
            message=message or fault.user_message,
            options=tuple(options) or told,
            safe="deny" if need else "abort",
            lineage=tuple(found.name for found in self.state.lineage(node_id)),
            task=task or self.state.input,
            action=dict(action or {}) | ({"permission": need} if need else {}),
            question=question,
            in_doubt=in_doubt,
            traceback=traceback,
            fingerprint=fingerprint,
            **more,
        )
        self.tell(opened, node_id, node.parent_id)
        return incident_id

    def analyse(self, incident_id: str, text: str, model: str = "scripted:analyst") -> None:
        opened = self.state.incidents[incident_id].opened
        self.tell(ev.AnalysisAdded(incident_id=incident_id, text=text, model=model), opened.node_id, opened.parent_id)

    def answer(self, incident_id: str, option: str, *, who: str = "ada", **params: Any) -> None:
        opened = self.state.incidents[incident_id].opened
        answered = ev.IncidentAnswered(
            incident_id=incident_id, revision=1, option=option, params=params, by=ev.Actor(name=who, channel="console")
        )
        self.tell(answered, opened.node_id, opened.parent_id)

    def propose(
        self, incident_id: str, option: str, reason: str = "", *, who: str = "Claude Code (ada)", **params: Any
    ) -> None:
        opened = self.state.incidents[incident_id].opened
        by = ev.Actor(name=who, channel="mcp")
        proposed = ev.AnswerProposed(
            incident_id=incident_id, revision=1, option=option, params=params, reason=reason, by=by
        )
        self.tell(proposed, opened.node_id, opened.parent_id)

    def finish(self, state: Any = "completed", output: str = "", error: str = "") -> None:
        self.tell(ev.RunFinished(state=state, output=output, error=error))


RATE_LIMITED = Classification(
    origin=Origin.MODEL,
    cause=Cause.RATE_LIMITED,
    persistence=Persistence.TRANSIENT,
    effect=Effect.NONE,
    retry_after_s=30.0,
    hint_source="retry-after header",
    provider="openai",
    http_status=429,
    code="rate_limit_exceeded",
    user_message="The provider limits the rate of requests.",
    technical="Rate limit reached for requests per minute.",
)
DENIED = Classification(
    origin=Origin.TOOL,
    cause=Cause.PERMISSION_DENIED,
    persistence=Persistence.NEEDS_CHANGE,
    effect=Effect.NOT_ATTEMPTED,
    user_message="The tool needs a permission that is not granted.",
)
BROKEN_TOOL = Classification(
    origin=Origin.TOOL,
    cause=Cause.TOOL_FAILED,
    persistence=Persistence.UNKNOWN,
    effect=Effect.UNKNOWN,
    impact=Impact.NODE,
    exception="ValueError",
    technical="ValueError: no such table: releases",
    metadata={"technical_details": "no such table: releases", "suggestions": ["Check the name of the table"]},
)
MISSING = Classification(
    origin=Origin.HUMAN,
    cause=Cause.MISSING_INPUT,
    persistence=Persistence.NEEDS_CHANGE,
    effect=Effect.NOT_ATTEMPTED,
    user_message="A person's answer is missing.",
)


def digest() -> Story:
    """A run in mid-work: one agent done, one at work in two tools, one of which waits for a permission."""
    story = Story()
    root = story.begin()
    planner = story.open("agent", "planner", root, 0, task="Plan the digest", model="openai:gpt-4o")
    call = story.wait(1).start("llm", "openai:gpt-4o", planner, 0, agent="planner", messages=3)
    story.wait(2).end(call, {"content": "1. fetch 2. write"}, tokens=(812, 96), usd=0.004)
    story.close(planner, output="1. fetch 2. write")
    researcher = story.open("agent", "researcher", root, 1, task="Collect the releases", model="openai:gpt-4o")
    call = story.wait(1).start("llm", "openai:gpt-4o", researcher, 0, messages=2)
    story.fail(call, RATE_LIMITED)
    story.retry(call, 2.0)
    story.wait(2).start("llm", "openai:gpt-4o", researcher, 0, attempt=2, messages=2)
    story.wait(3).end(call, {"content": ""}, tokens=(2104, 310), usd=0.0121)
    story.start("tool", "search_releases", researcher, 1, query="textual")
    write = story.start("tool", "write_file", researcher, 2, path="/data/out/digest.md")
    story.wait(1).park(
        write,
        DENIED,
        message="write_file needs fs.write:/data/out/digest.md",
        need="fs.write:/data/out/digest.md",
        action={
            "tool": "write_file",
            "arguments": {"path": "/data/out/digest.md", "text": "# Releases\n\n* textual 8.2.8\n"},
        },
        task="Collect the releases",
    )
    return story.wait(185)


def limited(number: int, minutes: float = 0.0, *, fingerprint: str = "f-rate", usd: float | None = None) -> Story:
    """One of many runs that meet the same limit: they differ in their id, when they began, and what they cost."""
    story = Story(f"run-{number}", f"chapter {number}", START + timedelta(minutes=minutes))
    agent = story.open("agent", "writer", story.begin("Write a chapter."), 0)
    call = story.start("llm", "openai:gpt-4o", agent, 0, messages=1)
    story.end(call, {"content": "x"}, tokens=(100, 10), usd=usd)
    call = story.start("llm", "openai:gpt-4o", agent, 1, messages=3)
    story.fail(call, RATE_LIMITED)
    story.wait(2).park(call, RATE_LIMITED, fingerprint=fingerprint, action={"model": "openai:gpt-4o"})
    return story


def finished() -> Story:
    """A run that went through."""
    story = Story("run-0", "translate manual", START - timedelta(hours=3))
    root = story.begin("Translate the manual to French.")
    agent = story.open("agent", "translator", root)
    call = story.start("llm", "anthropic:claude", agent, agent="translator", messages=1)
    story.wait(12).end(call, {"content": "Bonjour"}, tokens=(15_200, 14_100), usd=0.31)
    story.close(agent, output="Bonjour")
    story.close(root, output="Bonjour")
    story.finish(output="Bonjour")
    return story


def incident_of(story: Story) -> ev.IncidentOpened:
    """The first that waits."""
    return story.state.open_incidents[0].opened


def waiting_of(*stories: Story) -> list[InboxRow]:
    """What waits for a person in these runs, as lists get it."""
    return [
        InboxRow(story.run_id, found.opened, story.title) for story in stories for found in story.state.open_incidents
    ]


def summaries_of(*stories: Story) -> dict[str, Summary]:
    """These runs, as lists get them."""
    return {story.run_id: story.state.summary() for story in stories}
