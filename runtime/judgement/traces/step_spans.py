"""Spans of attempts: a model's call is `chat`, a tool's is `execute_tool`. Other steps (values) have none."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from runtime.judgement.traces import conventions as c
from runtime.judgement.traces import ids
from runtime.judgement.traces.content import chat_content, tool_content
from runtime.judgement.traces.span import Span, Value, nanoseconds
from runtime.judgement.traces.span_attributes import chat_attributes, fault_text, put_content, tool_attributes
from runtime.judgement.traces.traced_run import TracedRun
from runtime.record.state import events as ev


@dataclass(slots=True)
class OpenAttempt:
    """An attempt that is under way."""

    id: int
    parent: int
    start: int
    began: ev.StepStarted

    @property
    def model(self) -> str:
        """The model that is asked."""
        return str(self.began.effective.get("model", self.began.name))


class StepSpans:
    """The part of `RunSpans` that is about steps."""

    def __init__(self, run: TracedRun) -> None:
        self._run = run
        self.in_flight: dict[str, OpenAttempt] = {}
        """Attempts under way, by path."""
        self.copied: set[str] = set()
        """Steps that a fork copied, and that did not run again since."""

    def start(self, event: ev.StepStarted) -> None:
        """An attempt begins. A fork's copy of what another run has done has no epoch, and is that run's span."""
        if not event.epoch:
            self.copied.add(event.node_id)
            return
        self.copied.discard(event.node_id)
        if event.kind == "value":
            return
        span = ids.attempt_span_id(self._run.state.id, event.node_id, event.attempt, self._run.rewinds)
        parent = self._run.span_of(event.node_id.rpartition("/")[0])
        self.in_flight[event.node_id] = OpenAttempt(span, parent, nanoseconds(event.ts), event)

    def end(self, event: ev.StepEnded) -> Iterator[Span]:
        """An attempt came to its end. What a person gave in its place, or let be skipped, has none."""
        attempt = self.in_flight.pop(event.node_id, None)
        if attempt is None:
            return
        at = nanoseconds(event.ts)
        yield from self.leave(at, "cancelled", f"{event.node_id}/")
        measured = round(event.seconds * 1e9)
        # From when the call was made, not from when it was noted that it would be; a clock may have been set back.
        start = max(attempt.start, at - measured) if measured else attempt.start
        yield self._span(attempt, start, max(at, start + measured) if at < start else at, event)

    def leave(self, at: int, outcome: str, below: str = "") -> Iterator[Span]:
        """End attempts that have no end of their own, under a path; the innermost first."""
        for path in sorted((path for path in self.in_flight if path.startswith(below)), key=len, reverse=True):
            attempt = self.in_flight.pop(path)
            yield self._span(attempt, attempt.start, at, None, outcome)

    def _span(self, attempt: OpenAttempt, start: int, end: int, ended: ev.StepEnded | None, outcome: str = "") -> Span:
        run, began = self._run, attempt.began
        text, content = run.text, run.settings.content
        node = run.state.nodes.get(began.node_id)
        requested = began.requested or (node.requested if node is not None else {})
        is_chat = began.kind == "llm"
        if is_chat:
            attributes = chat_attributes(text, attempt.model, ended)
            name = f"{c.CHAT} {attributes[c.REQUEST_MODEL]}"
        else:
            attributes = tool_attributes(text, began.name, requested.get("id"), began.permissions)
            name = f"{c.EXECUTE_TOOL} {attributes[c.TOOL_NAME]}"
        attributes[c.ATTEMPT] = began.attempt
        if began.agent:
            attributes[c.AGENT] = text.name(began.agent)
        error, failed = self._status(ended, outcome)
        if failed:
            attributes[c.ERROR_TYPE] = outcome if ended is None or ended.fault is None else ended.fault.cause.value
        if outcome:
            attributes[c.OUTCOME] = outcome
        if content and ended is not None and not ended.secret:
            given = began.effective.get("arguments", requested.get("arguments"))
            found = chat_content(run.state, ended) if is_chat else tool_content(given, ended.result)
            put_content(text, attributes, found, tool=not is_chat)
        seconds = ended.seconds if ended is not None else None
        return run.make(
            attempt.id,
            attempt.parent,
            name,
            start,
            end,
            attributes,
            path=began.node_id,
            error=error,
            failed=failed,
            kind="client" if is_chat else "internal",
            seconds=seconds,
            facts=_facts(attributes) if is_chat and seconds is not None else {},
        )

    def _status(self, ended: ev.StepEnded | None, outcome: str) -> tuple[str, bool]:
        if ended is not None and ended.fault is not None:
            return fault_text(self._run.text, ended.fault, content=self._run.settings.content), True
        if outcome == c.PROCESS_DIED:
            return "its process ended while it was under way", True
        return "", False


def _facts(attributes: dict[str, Value]) -> dict[str, Value]:
    labels = (c.OPERATION, c.PROVIDER, c.REQUEST_MODEL, c.RESPONSE_MODEL, c.ERROR_TYPE)
    return {key: attributes[key] for key in (*labels, *c.USED_TOKENS.values()) if key in attributes}
