"""Lines of the log: each event by itself.

Everything foreign passes the gate here, piece by piece, so that a line break in it cannot forge a line of ours.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

from pydantic import ValidationError

from runtime.record.state import events as ev
from screens.render.formatting import format_count, format_duration
from screens.render.glyphs import state_ink, state_word
from screens.render.layout import Span, join_spans, span
from screens.views.lists.log_buffer import LogLevel, LogLine, file_level
from screens.views.run.node_names import place_words
from screens.views.shared.render_context import RenderContext

_ERRORS: Final = frozenset({"failed", "timed_out", "aborted", "interrupted"})
_WARNINGS: Final = frozenset({"waiting", "retrying", "degraded", "skipped", "warning"})
_LEVEL_INKS: Final[Mapping[LogLevel, str]] = {"info": "ink", "warning": "severity-warning", "error": "severity-error"}

_SILENT: Final = frozenset({ev.StepSettled, ev.OperatorLooked})
"""Events that say what another says too, and those of consoles that were opened, which only `digest` wants."""

EventText = tuple[str, str]
"""The state that an event is shown with, and what it says; foreign parts are clean."""


def read_event(body: Mapping[str, Any]) -> ev.JournalEvent:
    """The event that a runtime told, or what is left of it if this program cannot read it."""
    try:
        return ev.parse_event(dict(body))
    except ValidationError:
        return ev.UnknownEvent(
            type=str(body.get("type", "?")), run_id=str(body.get("run_id", "")), seq=int(body.get("seq", 0))
        )


def event_lines(
    rows: Sequence[tuple[str, Mapping[str, Any]]], looks: RenderContext, title: Callable[[str], str] | None = None
) -> list[LogLine]:
    """Lines of what `log` told, each row with its host; by time, where there are several. `title` says what a run is
    called, where the log is of more than one.
    """
    found = [(host, row["at"], read_event(row["event"])) for host, row in rows]
    if len({host for host, _, _ in found}) > 1:
        found.sort(key=lambda each: each[2].ts)
    return [_line(host, at, event, looks, title) for host, at, event in found if type(event) not in _SILENT]


def _line(
    host: str, at: int, event: ev.JournalEvent, looks: RenderContext, title: Callable[[str], str] | None
) -> LogLine:
    state, text = event_words(event, looks)
    level: LogLevel = "error" if state in _ERRORS else "warning" if state in _WARNINGS else "info"
    sign = looks.glyphs.warning if state == "warning" else looks.glyphs.state.get(state, " ")
    ink = "severity-warning" if state == "warning" else state_ink(state) if state in looks.glyphs.state else "ink-muted"
    run = "" if title is None else "workspace" if event.run_id == ev.WORKSPACE_RUN_ID else title(event.run_id)
    where = join_spans(
        (
            span(looks.line(host, 40), "ink-muted"),
            span(looks.line(run, 30), "ink-muted"),
            span(place_words(event.node_id, looks, root=title is None), "ink-accent"),
        ),
        looks.glyphs.dot,
    )
    recent = looks.now - event.ts < timedelta(hours=12)
    head = Span(f"{event.ts.astimezone().strftime('%H:%M:%S' if recent else '%m-%d %H:%M')} ", "ink-muted")
    said = span(text, _LEVEL_INKS[level] if level != "info" else "ink")
    spans = (head, Span(f"{sign} ", ink), *join_spans((where, said), " "))
    return LogLine(f"{host}:{at}", event.ts, level, spans, host, event.run_id, event.seq)


def gap_line(host: str, after: int, looks: RenderContext) -> LogLine:
    """Stands where more happened at once than a log takes in."""
    said = f"{looks.glyphs.ellipsis} more happened here than is shown: orbiter-console log has it all"
    return LogLine(f"gap:{host}:{after}", None, "warning", span(said, "severity-warning"), host)


def file_lines(host: str, began: int, text: str, looks: RenderContext, before: LogLevel = "info") -> list[LogLine]:
    """Lines of the runtime's log file, which `began` at this byte."""
    found: list[LogLine] = []
    at, level = began, before
    for raw in text.splitlines(keepends=True):
        level = file_level(raw, level)
        where = span(f"{looks.line(host, 40)} ", "ink-muted")
        line = span(looks.line(raw.rstrip("\r\n"), 1000), _LEVEL_INKS[level])
        found.append(LogLine(f"file:{host}:{at}", None, level, (*where, *line), host))
        at += len(raw.encode())
    return found


def event_words(event: ev.JournalEvent, looks: RenderContext) -> EventText:
    """What an event says, in a few words after its time and place."""
    teller = _FORMATTERS.get(type(event))
    if teller is None:
        return "", looks.line(str(getattr(event, "type", "?")), 80)
    found: EventText = teller(event, looks)
    return found


# -- one function for each kind of event -------------------------------------------------------------------------------


def _who(by: ev.Actor | None, looks: RenderContext) -> str:
    return f"{looks.line(by.name, 60) or 'the runtime'} ({by.channel})" if by is not None else "the runtime"


def _more(text: str, looks: RenderContext, limit: int = 300) -> str:
    return f": {looks.line(text, limit)}" if text else ""


def _json(value: Any, looks: RenderContext, limit: int = 200) -> str:
    return looks.line(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str), limit)


def _created(e: ev.RunCreated, looks: RenderContext) -> EventText:
    return "queued", f"asked for by {_who(e.by, looks)}{_more(e.input, looks)}"


def _parked(e: ev.RunParked, looks: RenderContext) -> EventText:
    until = f" until {e.wake_at.astimezone().strftime('%H:%M:%S')}" if e.wake_at is not None else ""
    return ("waiting", f"waits{until}") if e.reason == "waiting" else ("waiting", "is let go of, to be resumed")


def _rewind(e: ev.RewindRequested, looks: RenderContext) -> EventText:
    return "warning", f"to be turned back by {_who(e.by, looks)}{_more(e.reason, looks)}"


def _started(e: ev.StepStarted, looks: RenderContext) -> EventText:
    works_on = e.effective or e.requested
    given, model = works_on.get("arguments"), works_on.get("model")
    what = f"({_json(given, looks)})" if e.kind == "tool" and given else ""
    what = f": {looks.line(str(model), 80)}" if e.kind == "llm" and model else what
    again = f", attempt {e.attempt}" if e.attempt > 1 else ""
    return "running", f"{'asked' if e.kind == 'llm' else 'begins'}{what}{again}"


def _ended(e: ev.StepEnded, looks: RenderContext) -> EventText:
    took = f" after {format_duration(e.seconds)}" if e.seconds >= 0.05 else ""
    if e.skipped:
        return "skipped", f"skipped by {_who(e.by, looks)}"
    if e.fault is not None:
        told = "; the model is told" if e.model_told else ""
        what = looks.line(e.fault.technical or e.fault.user_message, 300)
        return ("degraded" if e.absorbed else "failed"), f"failed{took}: {e.fault.cause.value}: {what}{told}"
    used = f", {format_count(e.input_tokens)} tokens in, {format_count(e.output_tokens)} out" if e.input_tokens else ""
    by = f" by {_who(e.by, looks)}" if e.by is not None else ""
    return "succeeded", f"done{by}{took}{used}{_more(_result(e.result, looks), looks)}"


def _result(result: Any, looks: RenderContext) -> str:
    found = result.get("error") or result.get("content") if isinstance(result, dict) else result
    return "" if found is None else _json(found, looks)


def _retry(e: ev.RetryScheduled, looks: RenderContext) -> EventText:
    source = f", by {looks.line(e.source, 60)}" if e.source else ""
    again = f"attempt {e.attempt} of {e.max_attempts} in {format_duration(e.delay_s)}"
    return "retrying", f"{again}{source}{_more(e.reason, looks)}"


def _opened(e: ev.IncidentOpened, looks: RenderContext) -> EventText:
    return "waiting", f"needs a decision{_more(e.question or e.message or e.fault.user_message, looks)}"


def _answered(e: ev.IncidentAnswered, looks: RenderContext) -> EventText:
    given = f" {_json(e.params, looks)}" if e.params else ""
    return "running", f"{_who(e.by, looks)} answered {looks.line(e.option, 40)}{given}{_more(e.reason, looks)}"


def _granted(e: ev.GrantAdded, looks: RenderContext) -> EventText:
    what = looks.line(f"{e.verb}:{e.pattern}" if e.pattern else e.verb, 200)
    return "running", f"{_who(e.by, looks)} granted {looks.line(e.subject, 60)} {what} ({e.lifetime})"


def _breaker(e: ev.BreakerChanged, looks: RenderContext) -> EventText:
    state = "open" if e.opened_at is not None else "closed"
    by = f" by {_who(e.by, looks)}" if e.by.name else ""
    failures = f", {e.failures} failures" if e.failures else ""
    shown = "failed" if state == "open" else "warning" if e.failures else "succeeded"
    return shown, f"breaker {looks.line(e.key, 120)} is {state}{by}{failures}{_more(e.reason, looks)}"


def _plain(state: str, words: str, *names: str) -> Callable[[Any, RenderContext], EventText]:
    """A teller of fixed words with the event's fields in them, which are cleaned."""

    def tell(event: Any, looks: RenderContext) -> EventText:
        values = {name: looks.line(str(getattr(event, name)), 200) for name in names}
        return state, words.format(**values, by=_who(getattr(event, "by", None), looks)).rstrip(": ")

    return tell


_FORMATTERS: Final[dict[type[ev.JournalEvent], Callable[[Any, RenderContext], EventText]]] = {
    ev.RunCreated: _created,
    ev.RunStarted: _plain("running", "is driven, life {epoch}", "epoch"),
    ev.RunParked: _parked,
    ev.RunFinished: lambda e, looks: (e.state, f"{state_word(e.state)}{_more(e.error or e.output, looks)}"),
    ev.AbortRequested: _plain("aborted", "to be aborted, says {by}: {reason}", "reason"),
    ev.RunFrozen: _plain("frozen", "frozen by {by}: {reason}", "reason"),
    ev.RunThawed: _plain("running", "thawed by {by}"),
    ev.RewindRequested: _rewind,
    ev.RunRewound: _plain("warning", "was turned back"),
    ev.ClockStepped: _plain("warning", "the clock was set by {seconds} s: waits are as long as they were", "seconds"),
    ev.SwarmLoaded: _plain("info", "its swarm is imported, after a process had ended before that was recorded"),
    ev.ClockSetBack: _plain("warning", "the clock was set back by {seconds} s: waits end so much earlier", "seconds"),
    ev.BreakpointSet: _plain("running", "{by} set a breakpoint at {what} {pattern}", "what", "pattern"),
    ev.BreakpointCleared: _plain("running", "{by} cleared the breakpoint at {what} {pattern}", "what", "pattern"),
    ev.MessageInjected: _plain("running", "{by} told {agent}: {text}", "agent", "text"),
    ev.MessageDelivered: _plain("running", "got a message of an operator"),
    ev.NodeOpened: _plain("running", "{kind} begins", "kind"),
    ev.NodeClosed: lambda e, looks: (e.state, f"{state_word(e.state)}{_more(e.error or e.output, looks)}"),
    ev.Warned: _plain("warning", "{text}", "text"),
    ev.StepRequested: _plain("pending", "is ahead"),
    ev.StepStarted: _started,
    ev.StepEdited: _plain("running", "was changed by a hook"),
    ev.StepEnded: _ended,
    ev.RetryScheduled: _retry,
    ev.StepFellBack: _plain("warning", "goes on with {to_model} instead of {from_model}: {reason}", "to_model",
                            "from_model", "reason"),
    ev.StepCompacted: _plain("warning", "conversation cut from {bytes_before} to {bytes_after} bytes", "bytes_before",
                             "bytes_after"),
    ev.ControlReturned: _plain("warning", "goes back into the swarm ({remedy}): {reason}", "remedy", "reason"),
    ev.LateResultDropped: _plain("warning", "a late result was dropped: {summary}", "summary"),
    ev.IncidentOpened: _opened,
    ev.IncidentAnswered: _answered,
    ev.IncidentClosed: _plain("running", "the decision is not needed any more: {reason}", "reason"),
    ev.AnalysisStarted: _plain("running", "{model} is asked what went wrong", "model"),
    ev.AnalysisAdded: _plain("running", "analysis: {text}", "text"),
    ev.GrantAdded: _granted,
    ev.GrantUsed: _plain("succeeded", "grant {grant_id} let {need} pass", "grant_id", "need"),
    ev.GrantRevoked: _plain("running", "{by} took back grant {grant_id}", "grant_id"),
    ev.FreezeSet: _plain("frozen", "{by} froze {ref}: {reason}", "ref", "reason"),
    ev.FreezeLifted: _plain("running", "{by} lifted the freeze of {ref}", "ref"),
    ev.BreakerChanged: _breaker,
    ev.OperatorLooked: _plain("", "{by} looked"),
    ev.EventsLost: _plain("failed", "the journal has lost its newest events: {detail}", "detail"),
    ev.PatternReread: _plain(
        "warning", "{what} became stricter. Before: {before}. Now: {now}", "what", "before", "now"
    ),
    ev.NoticeSent: _plain("", "notice sent by {channel}", "channel"),
}  # fmt: skip
