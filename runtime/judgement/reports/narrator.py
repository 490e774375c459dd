"""The narrator: each event as one sentence, the same for every place that shows events. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from runtime.judgement.reports.audit import shown_params
from runtime.judgement.reports.narration import (
    Count,
    Foreign,
    Instant,
    Narration,
    NarrationWeight,
    Part,
    Seconds,
)
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun

_SHORTEST_S: Final = 0.05
"""A shorter time is not worth a word."""


def narrate(event: ev.JournalEvent, state: DurableRun | None = None) -> Narration:
    """What an event says.

    Args:
        event: the event; one of a newer program is named by its type.
        state: the run that has taken in the event already, where there is one: it adds what the event alone does not
            know (how long a node took, what is still under way).
    """
    narrator = NARRATORS.get(type(event))
    if narrator is None:
        return Narration("", (Foreign(str(getattr(event, "type", "?")), 80),))
    return narrator(event, state)


def actor_parts(by: ev.Actor | None) -> tuple[Part, ...]:
    """Who did it, and by what way: ``ada (console)``."""
    if by is None or (not by.name and by.channel == "runtime"):
        return ("the runtime",)
    return (Foreign(by.name, 60) if by.name else "the runtime", f" ({by.channel})")


def _said(text: str, limit: int = 300) -> Foreign:
    return Foreign(text, limit)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _result_text(result: Any) -> str:
    found = result.get("error") or result.get("content") if isinstance(result, dict) else result
    return "" if found is None else _as_text(found)


def _after(seconds: float) -> tuple[Part, ...]:
    return (" after ", Seconds(seconds)) if seconds >= _SHORTEST_S else ()


# -- the run -----------------------------------------------------------------------------------------------------------


def _run_created(e: ev.RunCreated, _: DurableRun | None) -> Narration:
    return Narration("queued", ("created by ", *actor_parts(e.by)), _said(e.input, 400))


def _run_started(e: ev.RunStarted, state: DurableRun | None) -> Narration:
    life = state.lives if state is not None else e.epoch
    return Narration("running", ("taken up again: what is recorded is not repeated" if life > 1 else "started",))


def _run_parked(e: ev.RunParked, _: DurableRun | None) -> Narration:
    if e.reason == "stop":
        return Narration("waiting", ("paused, goes on later",))
    until: tuple[Part, ...] = (" until ", Instant(e.wake_at)) if e.wake_at is not None else ()
    person = " for a person" if e.incidents or not (until or e.thaw) else ""
    thaw = " to be thawed" if e.thaw else ""
    return Narration("waiting", (f"waits{person}{' or' if person and thaw else ''}{thaw}", *until))


def _run_finished(e: ev.RunFinished, _: DurableRun | None) -> Narration:
    text = e.output or e.error if e.state in ("completed", "degraded") else e.error or e.output
    return Narration(e.state, (e.state,), _said(text), block=True)


def _run_frozen(e: ev.RunFrozen, state: DurableRun | None) -> Narration:
    flying: tuple[Part, ...] = ()
    if state is not None and state.freezing:
        flying = ("; under way and coming to an end: ", Count(len(state.in_flight)))
    return Narration("frozen", ("frozen by ", *actor_parts(e.by), *flying), _said(e.reason))


def _run_moved(e: ev.RunMoved, _: DurableRun | None) -> Narration:
    to: tuple[Part, ...] = (" to code ", Foreign(e.code)) if e.code else (" to any code",)
    to += (", queue ", Foreign(e.queue)) if e.queue else ()
    return Narration("queued", ("moved by ", *actor_parts(e.by), *to), whole=True)


def _rewind_requested(e: ev.RewindRequested, _: DurableRun | None) -> Narration:
    parts = ("rewind to ", Foreign(e.node_id), " requested by ", *actor_parts(e.by))
    return Narration("warning", parts, _said(e.reason), whole=True)


def _run_rewound(e: ev.RunRewound, _: DurableRun | None) -> Narration:
    parts = ("rewound to ", Foreign(e.node_id), " by ", *actor_parts(e.by), "; nodes dropped: ", Count(e.dropped))
    return Narration("warning", parts, whole=True)


def _clock_stepped(e: ev.ClockStepped, _: DurableRun | None) -> Narration:
    way = "forward" if e.seconds > 0 else "back"
    parts = (f"the clock was set {way} by ", Seconds(abs(e.seconds)), ": waits are as long as they were")
    return Narration("warning", parts, whole=True)


def _clock_set_back(e: ev.ClockSetBack, _: DurableRun | None) -> Narration:
    parts = (
        "the clock was set back by ",
        Seconds(e.seconds),
        " or more: waits that were under way end earlier by as much",
    )
    return Narration("warning", parts, whole=True)


# -- nodes and steps ---------------------------------------------------------------------------------------------------


def _node_opened(e: ev.NodeOpened, _: DurableRun | None) -> Narration:
    agent = e.kind == "agent"
    return Narration("running", ("begins" if agent else f"begins ({e.kind})",), weight="main" if agent else "detail")


def _node_closed(e: ev.NodeClosed, state: DurableRun | None) -> Narration:
    node = state.nodes.get(e.node_id) if state is not None else None
    took: tuple[Part, ...] = ()
    if node is not None and node.opened_at is not None and node.closed_at is not None:
        took = _after((node.closed_at - node.opened_at).total_seconds())
    detail = node is not None and node.kind != "agent"
    parts = (e.state.replace("_", " "), *took)
    return Narration(e.state, parts, _said(e.error or e.output), weight="detail" if detail else "main")


def _step_started(e: ev.StepStarted, _: DurableRun | None) -> Narration:
    works_on = e.effective or e.requested
    given, model = works_on.get("arguments"), works_on.get("model")
    what: tuple[Part, ...] = ()
    if e.kind == "tool" and given:
        what = (": ", Foreign(_as_text(given)))
    elif e.kind == "llm" and model:
        what = (": ", Foreign(str(model), 80))
    again = f", attempt {e.attempt}" if e.attempt > 1 else ""
    return Narration("running", ("asked" if e.kind == "llm" else "begins", *what, again), weight="detail")


def _step_ended(e: ev.StepEnded, state: DurableRun | None) -> Narration:
    node = state.nodes.get(e.node_id) if state is not None else None
    weight: NarrationWeight = "detail" if node is not None and node.kind == "value" else "main"
    took = _after(e.seconds)
    if e.skipped:
        return Narration("skipped", ("skipped by ", *actor_parts(e.by)), weight=weight)
    if e.fault is not None:
        what = Foreign(e.fault.author_message or e.fault.technical or e.fault.user_message, 300)
        told = "; the model is told" if e.model_told else ""
        parts = ("failed", *took, f": {e.fault.cause.value}: ", what, told)
        return Narration("degraded" if e.absorbed else "failed", parts, weight=weight)
    result = _said(_result_text(e.result))
    if e.by is not None:
        if isinstance(e.result, dict) and e.result.get("error"):
            return Narration("skipped", ("not done, decided by ", *actor_parts(e.by)), result, weight=weight)
        return Narration("succeeded", ("done by ", *actor_parts(e.by), *took), result, weight=weight)
    if e.input_tokens or (node is not None and node.kind == "llm"):
        used = ("; ", Count(e.input_tokens), " tokens in, ", Count(e.output_tokens), " out")
        return Narration("succeeded", ("replied", *took, *used), result, weight=weight)
    return Narration("succeeded", ("done", *took), result, weight=weight)


def _retry_scheduled(e: ev.RetryScheduled, _: DurableRun | None) -> Narration:
    source: tuple[Part, ...] = (", by ", Foreign(e.source, 60)) if e.source else ()
    parts = (f"retries: attempt {e.attempt} of {e.max_attempts} in ", Seconds(e.delay_s), *source)
    return Narration("retrying", parts, _said(e.reason))


def _control_returned(e: ev.ControlReturned, _: DurableRun | None) -> Narration:
    to: tuple[Part, ...] = (", to ", Foreign(e.to, 60)) if e.to else ()
    return Narration("warning", (f"goes back into the swarm ({e.remedy})", *to), _said(e.reason))


# -- incidents ---------------------------------------------------------------------------------------------------------


def _incident_opened(e: ev.IncidentOpened, _: DurableRun | None) -> Narration:
    return Narration("waiting", (*_incident(e), " waits for an answer"), _said(e.what), whole=True)


def _incident_answered(e: ev.IncidentAnswered, _: DurableRun | None) -> Narration:
    given: tuple[Part, ...] = (" ", Foreign(_as_text(shown_params(e.params)))) if e.params else ()
    parts = (*_incident(e), " answered by ", *actor_parts(e.by), ": ", Foreign(e.option, 40), *given)
    return Narration("running", parts, _said(e.reason), whole=True)


def _analysis_added(e: ev.AnalysisAdded, _: DurableRun | None) -> Narration:
    if e.fallback:
        return Narration("running", (*_incident(e), ": no analysis"), _said(e.why_missing), whole=True)
    by: tuple[Part, ...] = (" by the model ", Foreign(e.model, 80)) if e.model else ()
    return Narration("running", (*_incident(e), ": analysis", *by), _said(e.text), block=True, whole=True)


def _incident(e: ev.IncidentOpened | ev.IncidentAnswered | ev.AnalysisAdded) -> tuple[Part, ...]:
    return ("incident ", Foreign(e.incident_id, 60))


# -- the workspace -----------------------------------------------------------------------------------------------------


def _grant_added(e: ev.GrantAdded, _: DurableRun | None) -> Narration:
    what = Foreign(f"{e.verb}:{e.pattern}" if e.pattern else e.verb)
    parts = (*actor_parts(e.by), " granted ", Foreign(e.subject, 60), " ", what, f" ({e.lifetime})")
    return Narration("running", parts, whole=True)


def _freeze_set(e: ev.FreezeSet, _: DurableRun | None) -> Narration:
    what: Part = Foreign(e.ref) if e.ref else "all swarms"
    return Narration("frozen", (*actor_parts(e.by), " froze ", what), _said(e.reason), whole=True)


def _freeze_lifted(e: ev.FreezeLifted, _: DurableRun | None) -> Narration:
    what: Part = Foreign(e.ref) if e.ref else "all swarms"
    return Narration("running", (*actor_parts(e.by), " lifted the freeze of ", what), whole=True)


def _breaker_changed(e: ev.BreakerChanged, _: DurableRun | None) -> Narration:
    is_open = e.opened_at is not None
    by = (" by ", *actor_parts(e.by)) if e.by.name else ()
    failures: tuple[Part, ...] = (", failures: ", Count(e.failures)) if e.failures else ()
    state = "failed" if is_open else "warning" if e.failures else "succeeded"
    words = f" is {'open' if is_open else 'closed'}"
    return Narration(state, ("breaker ", Foreign(e.key, 120), words, *by, *failures), _said(e.reason), whole=True)


def _fixed(
    state: str, words: str, *, text: str = "", weight: NarrationWeight = "main", whole: bool = False
) -> Callable[[Any, DurableRun | None], Narration]:
    """A narrator of fixed words. ``{name}`` in them is the event's field of that name, which is foreign, and ``{by}``
    who did it; `text` names the field that is said behind the words.
    """
    pieces = [piece for piece in re.split(r"(\{\w+\})", words) if piece]

    def narrator(event: Any, _: DurableRun | None) -> Narration:
        parts: list[Part] = []
        for piece in pieces:
            if piece == "{by}":
                parts.extend(actor_parts(event.by))
            else:
                parts.append(Foreign(str(getattr(event, piece[1:-1]))) if piece.startswith("{") else piece)
        said = _said(str(getattr(event, text)), 400) if text else Foreign("")
        return Narration(state, tuple(parts), said, weight=weight, whole=whole)

    return narrator


NARRATORS: Final[dict[type[ev.JournalEvent], Callable[[Any, DurableRun | None], Narration]]] = {
    ev.RunCreated: _run_created,
    ev.RunStarted: _run_started,
    ev.RunParked: _run_parked,
    ev.RunFinished: _run_finished,
    ev.AbortRequested: _fixed("aborted", "abort requested by {by}", text="reason", whole=True),
    ev.RunFrozen: _run_frozen,
    ev.RunThawed: _fixed("running", "thawed by {by}"),
    ev.RunMoved: _run_moved,
    ev.RewindRequested: _rewind_requested,
    ev.RunRewound: _run_rewound,
    ev.SwarmLoaded: _fixed(
        "", "its swarm is imported; recorded because an earlier process ended before its first step", whole=True
    ),
    ev.ClockSetBack: _clock_set_back,
    ev.ClockStepped: _clock_stepped,
    ev.BreakpointSet: _fixed("running", "{by} set a breakpoint at {what} {pattern}", whole=True),
    ev.BreakpointCleared: _fixed("running", "{by} cleared the breakpoint at {what} {pattern}", whole=True),
    ev.MessageInjected: _fixed("running", "{by} sent a message to {agent}", text="text", whole=True),
    ev.MessageDelivered: _fixed("running", "got a message from an operator"),
    ev.NodeOpened: _node_opened,
    ev.NodeClosed: _node_closed,
    ev.Warned: _fixed("warning", "warns", text="text"),
    ev.StepRequested: _fixed("pending", "is requested", weight="detail"),
    ev.StepStarted: _step_started,
    ev.StepEdited: _fixed("running", "was changed by a hook", weight="detail"),
    ev.StepEnded: _step_ended,
    ev.StepSettled: _fixed("", "its hooks have run", weight="noise"),
    ev.RetryScheduled: _retry_scheduled,
    ev.StepFellBack: _fixed("warning", "goes on with {to_model} instead of {from_model}", text="reason"),
    ev.StepCompacted: _fixed("warning", "goes on with its conversation cut from {bytes_before} to {bytes_after} bytes"),
    ev.ControlReturned: _control_returned,
    ev.CancelRequested: _fixed("warning", "is to be cancelled, says {by}", text="reason"),
    ev.LateResultDropped: _fixed("warning", "came back too late: its result was dropped", text="summary"),
    ev.IncidentOpened: _incident_opened,
    ev.IncidentAnswered: _incident_answered,
    ev.IncidentClosed: _fixed("running", "incident {incident_id} closed without an answer", text="reason", whole=True),
    ev.AnswerProposed: _fixed("waiting", "incident {incident_id}: {by} proposes {option}", text="reason", whole=True),
    ev.AgentRefused: _fixed("warning", "{by} was refused {act}: {why}", text="reason", whole=True),
    ev.AnalysisStarted: _fixed("running", "incident {incident_id}: {model} is asked what went wrong", whole=True),
    ev.AnalysisAdded: _analysis_added,
    ev.GrantAdded: _grant_added,
    ev.GrantUsed: _fixed("succeeded", "grant {grant_id} let {need} pass", weight="detail", whole=True),
    ev.GrantRevoked: _fixed("running", "{by} took back grant {grant_id}", whole=True),
    ev.FreezeSet: _freeze_set,
    ev.FreezeLifted: _freeze_lifted,
    ev.BreakerChanged: _breaker_changed,
    ev.OperatorLooked: _fixed("", "{by} opened a console", weight="noise", whole=True),
    ev.EventsLost: _fixed("failed", "the journal has lost its newest events", text="detail", whole=True),
    ev.PatternReread: _fixed("warning", "{what} became stricter. Before: {before}. Now: {now}", whole=True),
    ev.TracesSent: _fixed("", "traces sent, spans: {spans}", weight="noise", whole=True),
    ev.TracesHeldBack: _fixed("warning", "the receiver of traces refuses them", text="reason", whole=True),
    ev.NoticeSent: _fixed("", "notice sent by {channel}", weight="detail", whole=True),
}
