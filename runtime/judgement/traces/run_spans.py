"""The spans of one run, as a fold of its events: each span comes out with the event that ends it.

A run is `invoke_workflow` and the root; a nested swarm or group is one too. An agent is `invoke_agent`, each attempt of
a model's call `chat`, each attempt of a tool's call and each tool that only runs agents `execute_tool`. An incident is
a span of ours. What a process left open when it died ends when the next life begins. A step that a fork copied is the
origin's span.

The same events give the same spans with the same ids, from any process: what is sent twice is the same twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from runtime.judgement.traces import conventions as c
from runtime.judgement.traces import ids
from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.content import assistant_message, composite_arguments, user_message
from runtime.judgement.traces.flavours import add_flavours, add_trace
from runtime.judgement.traces.span import Attributes, Span, TraceSettings, nanoseconds
from runtime.judgement.traces.step_spans import StepSpans
from runtime.judgement.traces.wait_spans import WaitSpans
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun

_OPERATIONS = {"agent": c.INVOKE_AGENT, "tool": c.EXECUTE_TOOL, "swarm": c.INVOKE_WORKFLOW, "group": c.INVOKE_WORKFLOW}
_FAILED_NODES = ("failed", "timed_out")
_FAILED_RUNS = ("failed", "interrupted")


@dataclass(slots=True)
class _OpenNode:
    """A scope that is open, or the run itself."""

    id: int
    parent: int
    start: int
    path: str = ""
    kind: str = ""
    name: str = ""
    info: dict[str, Any] = field(default_factory=dict)


class RunSpans:
    """Fed with all events of one run in order.

    Args:
        settings: What is sent.
        text: What cleans texts; may be replaced, since secrets may become known later.
    """

    def __init__(self, settings: TraceSettings, text: AttributeText) -> None:
        self.text: AttributeText = text
        self.state: DurableRun = DurableRun()
        self.settings: TraceSettings = settings
        self.rewinds = 0
        self._root: _OpenNode | None = None
        self._open: dict[str, _OpenNode] = {}
        self._ends = 0
        self._user = ""
        self.steps = StepSpans(self)
        self.waits = WaitSpans(self)

    # -- what the parts of it share ------------------------------------------------------------------------------

    def span_of(self, path: str) -> int:
        """The span under which something at a node stands: the innermost one around it that is open."""
        while path:
            if (attempt := self.steps.in_flight.get(path)) is not None:
                return attempt.id
            if (node := self._open.get(path)) is not None:
                return node.id
            path = path.rpartition("/")[0]
        return self._root.id if self._root is not None else ids.root_span_id(self.state.id)

    def make(  # noqa: PLR0917 - of this package
        self,
        span: int,
        parent: int,
        name: str,
        start: int,
        end: int,
        attributes: Attributes,
        *,
        path: str = "",
        error: str = "",
        failed: bool = False,
        **more: Any,
    ) -> Span:
        """A span of this run, with what all of them carry."""
        run_id = self.state.id
        found: Attributes = {c.CONVERSATION: run_id, c.RUN_ID: run_id, **attributes}
        if path:
            found[c.NODE_PATH] = self.text.id(path)
        add_flavours(self.settings.flavours, found, error=error, failed=failed, user=self._user)
        trace = ids.trace_id(run_id)
        return Span(trace, span, parent, name, start, max(start, end), found, error=error, failed=failed, **more)

    # -- the fold ------------------------------------------------------------------------------------------------

    def apply(self, event: ev.JournalEvent) -> list[Span]:
        """Take one event into account; the spans that it ends, inner ones first."""
        before = self.state.updated_at
        self.state.apply(event)
        return list(self._spans(event, before))

    def _spans(self, event: ev.JournalEvent, before: datetime | None) -> Iterator[Span]:
        match event:
            case ev.RunCreated():
                self._user = self.text.name(event.by.name)
                self._root = _OpenNode(ids.root_span_id(self.state.id), 0, nanoseconds(event.ts))
            case ev.RunStarted():
                yield from self._start(event, before)
            case ev.RunParked():
                yield from self.steps.leave(self._now(event), "parked")
            case ev.RunRewound():
                yield from self._rewind(event)
            case ev.RunFinished():
                yield from self._finish(event)
            case ev.NodeOpened():
                self._open_node(event)
            case ev.NodeClosed():
                yield from self._close_node(event)
            case ev.StepStarted():
                self.steps.start(event)
            case ev.StepEnded():
                yield from self.steps.end(event)
            case _:
                yield from self.waits.apply(event)

    def _now(self, event: ev.JournalEvent) -> int:
        return nanoseconds(event.ts)

    def _start(self, event: ev.RunStarted, before: datetime | None) -> Iterator[Span]:
        if before is not None:
            yield from self.steps.leave(nanoseconds(before), c.PROCESS_DIED)
        if self._root is None and not self.state.terminal:
            first = ids.root_span_id(self.state.id)
            self._root = _OpenNode(ids.root_span_id(self.state.id, self._ends), first, self._now(event))

    def _open_node(self, event: ev.NodeOpened) -> None:
        path = event.node_id
        if path in self._open or (not event.parent_id and event.kind in ("swarm", "group")):
            return  # the outermost swarm is the run itself
        self._open[path] = self._opened(path, event.kind, event.name, event.info, self._now(event))

    def _opened(self, path: str, kind: str, name: str, info: dict[str, Any], at: int) -> _OpenNode:
        start = max(at, self._root.start) if self._root is not None else at
        span = ids.node_span_id(self.state.id, path, self.rewinds)
        return _OpenNode(span, self.span_of(path.rpartition("/")[0]), start, path, kind, name, info)

    def _close_node(self, event: ev.NodeClosed) -> Iterator[Span]:
        below = f"{event.node_id}/"
        yield from self._leave_below(below, self._now(event), "cancelled")
        if (node := self._open.pop(event.node_id, None)) is not None:
            yield self._node_span(node, self._now(event), event.state, event.output, event.error)

    def _leave_below(self, below: str, at: int, state: str) -> Iterator[Span]:
        """End what is still open under a path (all of it, for the empty one), the innermost first."""
        yield from self.steps.leave(at, state, below)
        for path in sorted((path for path in self._open if path.startswith(below)), key=len, reverse=True):
            yield self._node_span(self._open.pop(path), at, state)

    def _node_span(self, node: _OpenNode, end: int, state: str, output: str = "", error: str = "") -> Span:
        operation = _OPERATIONS[node.kind]
        named = self.text.name(node.name)
        attributes: Attributes = {c.OPERATION: operation, c.NODE_STATE: state}
        if operation == c.EXECUTE_TOOL:
            attributes |= {c.TOOL_NAME: named, c.TOOL_TYPE: "function"}
            if isinstance(call := node.info.get("id"), str):
                attributes[c.TOOL_CALL_ID] = self.text.id(call)
            around = self.state.nodes.get(node.path.rpartition("/")[0])
            if around is not None and around.kind == "agent":
                attributes[c.AGENT] = self.text.name(around.name)
        else:
            attributes[c.AGENT] = named
        failed = state in _FAILED_NODES
        if failed:
            attributes[c.ERROR_TYPE] = state
        task = node.info.get("task")
        self._put_words(attributes, task if isinstance(task, str) else "", output, tool=operation == c.EXECUTE_TOOL)
        told = (self.text.text(error)[:1_000] if self.settings.content and error else state) if failed else ""
        name = f"{operation} {named}"
        return self.make(
            node.id, node.parent, name, node.start, end, attributes, path=node.path, error=told, failed=failed
        )

    def _put_words(self, attributes: Attributes, task: str, output: str, *, tool: bool = False) -> None:
        if not self.settings.content:
            return
        if tool:
            words: dict[str, Any] = {c.TOOL_ARGUMENTS: composite_arguments(task), c.TOOL_RESULT: output or None}
        else:
            words = {c.INPUT_MESSAGES: user_message(task) if task else None}
            words[c.OUTPUT_MESSAGES] = assistant_message(output) if output else None
        attributes |= {name: self.text.json(value) for name, value in words.items() if value is not None}

    # -- the run as a whole --------------------------------------------------------------------------------------

    def _rewind(self, event: ev.RunRewound) -> Iterator[Span]:
        """What was dropped ends here; what goes on although it had ended is open again, as another span."""
        at, nodes = self._now(event), self.state.nodes
        yield from self.steps.leave(at, "rewound")
        self.rewinds += 1
        gone = [path for path in self._open if path not in nodes or nodes[path].terminal]
        for path in sorted(gone, key=len, reverse=True):
            yield self._node_span(self._open.pop(path), at, "rewound")
        again = [node for node in nodes.values() if not (node.is_step or node.terminal or node.id in self._open)]
        for node in sorted(again, key=lambda each: len(each.id)):
            if node.parent_id or node.kind not in ("swarm", "group"):
                self._open[node.id] = self._opened(node.id, node.kind, node.name, node.info, at)
        yield from self.waits.withdraw(at, set(nodes))

    def _finish(self, event: ev.RunFinished) -> Iterator[Span]:
        if self._root is None:
            return
        at = self._now(event)
        yield from self._leave_below("", at, "cancelled")
        yield from self.waits.withdraw(at)
        root, self._root, run = self._root, None, self.state
        self._ends += 1
        name = self.text.name(run.ref.rpartition("/")[2] or run.id)  # its title is content
        attributes: Attributes = {
            c.OPERATION: c.INVOKE_WORKFLOW,
            c.AGENT: name,
            c.RUN_STATE: event.state,
            c.RUN_LIVES: run.lives,
        }
        failed = event.state in _FAILED_RUNS
        if failed:
            attributes[c.ERROR_TYPE] = event.state
        self._put_words(attributes, run.input, event.output)
        origin = run.fork_origin.run_id
        link = (ids.trace_id(origin), ids.root_span_id(origin)) if origin else None
        if origin:
            attributes[c.FORK_OF] = origin
        told = (self.text.text(event.error)[:1_000] if self.settings.content else event.state) if failed else ""
        span = self.make(
            root.id,
            root.parent,
            f"{c.INVOKE_WORKFLOW} {name}",
            root.start,
            at,
            attributes,
            error=told,
            failed=failed,
            link=link,
        )
        if not root.parent:
            add_trace(self.settings.flavours, span.attributes, name)
        yield span
