"""Incidents to explain, one for every cause, place and kind: real events through the real fold, the real options."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from runtime.judgement.recovery.option_spec import FaultSite
from runtime.judgement.recovery.options import options_for
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, Incident
from runtime.record.state.fault_taxonomy import Cause, Classification, Effect, Origin, Persistence

TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/srv/trips/trip.py", line 20, in book\n    raise ValueError(seats)\nValueError: no such table: seats\n'
)
SAID: dict[Cause, str] = {
    Cause.NETWORK: "ConnectError: [Errno 111] Connection refused: http://127.0.0.1:8931/projects.json",
    Cause.RATE_LIMITED: "Rate limit reached for requests per minute.",
    Cause.CONFIG_INVALID: "BadConfig: trip.toml, line 3: 'seats' must be a number",
}
NEEDS_CHANGE = Persistence.NEEDS_CHANGE


@dataclass
class Told:
    """A run as its events tell it, and the incident at its end."""

    events: list[ev.JournalEvent] = field(default_factory=list)
    state: DurableRun = field(default_factory=DurableRun)
    at: datetime = datetime(2026, 11, 20, 9, 0, tzinfo=UTC)

    def tell(self, event: ev.JournalEvent, node_id: str = "", parent_id: str = "") -> None:
        self.at += timedelta(seconds=1)
        place = {"seq": len(self.events) + 1, "run_id": "r1", "ts": self.at, "node_id": node_id, "parent_id": parent_id}
        told = replace(event, **place)
        self.events.append(told)
        self.state.apply(told)

    @property
    def incident(self) -> Incident:
        return list(self.state.incidents.values())[-1]


def begun() -> Told:
    """A swarm of two members, of which the first is done; the second has asked a model and called a tool before."""
    run = Told()
    run.tell(ev.RunCreated(ref="/work/trip.py:flow", input="Plan a trip to Basel."))
    run.tell(ev.RunStarted(epoch=1, owner="host:1#1"))
    run.tell(ev.NodeOpened(kind="swarm", name="flow", info={"members": ["scout", "booker", "reporter"]}), "flow")
    run.tell(ev.NodeOpened(kind="agent", name="scout"), "flow/scout", "flow")
    run.tell(ev.NodeClosed(state="succeeded", output="two hotels"), "flow/scout", "flow")
    run.tell(ev.NodeOpened(kind="agent", name="booker"), "flow/booker", "flow")
    for number, (kind, name) in enumerate((("llm", "openai:gpt-4.1"), ("tool", "book"))):
        node = f"flow/booker/{name}-{number}"
        given = {"arguments": {"url": "http://127.0.0.1:8931/projects.json"}} if kind == "tool" else {}
        about: Any = {"kind": kind, "name": name, "agent": "booker", "epoch": 1}
        run.tell(ev.StepStarted(**about, attempt=1, requested=given), node, "flow/booker")
        run.tell(ev.StepEnded(attempt=1, result="ok", seconds=1.0), node, "flow/booker")
    return run


def fault_of(cause: Cause, where: FaultSite, **more: Any) -> Classification:
    at_model = where == "llm"
    facts: dict[str, Any] = {
        "origin": Origin.MODEL if at_model else Origin.TOOL if where == "tool" else Origin.SWARM,
        "cause": cause,
        "persistence": NEEDS_CHANGE,
        "effect": Effect.NONE,
        "provider": "anthropic" if at_model else "",
        "http_status": 429 if cause is Cause.RATE_LIMITED else None,
        "code": "rate_limit_exceeded" if cause is Cause.RATE_LIMITED else "",
        "retry_after_s": 42.0 if cause in (Cause.RATE_LIMITED, Cause.CIRCUIT_OPEN) else None,
        "hint_source": "retry-after header" if cause is Cause.RATE_LIMITED else "",
        "exception": "ValueError",
        "user_message": "It failed.",
        "technical": SAID.get(cause, "ValueError: no such table: seats"),
    }
    return Classification(**(facts | more))


def action_of(cause: Cause, where: FaultSite) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if where == "tool":
        found = {"tool": "book", "arguments": {"url": "http://127.0.0.1:8931/projects.json", "seats": 2}}
    elif where == "llm":
        found = {"model": "anthropic:claude-haiku-4-5"}
    if cause is Cause.LIMIT_REACHED:
        found["budget"] = {"limit": "max_llm_calls", "scope": "", "of": "the run", "used": 20, "allowed": 20}
    if cause is Cause.CIRCUIT_OPEN:
        found["breaker"] = "model:anthropic:claude-haiku-4-5"
    return found


def failed(
    cause: Cause,
    where: FaultSite = "tool",
    *,
    attempts: int = 3,
    run: Told | None = None,
    in_doubt: bool = False,
    need: str = "",
    question: str = "",
    action: dict[str, Any] | None = None,
    **fault: Any,
) -> Told:
    """A run that waits because of `cause` at a place of the kind `where`, after so many attempts that failed."""
    run = run if run is not None else begun()
    facts = fault_of(cause, where, **fault)
    node, parent, lineage = _node(run, where)
    if where in ("llm", "tool", "value"):
        about: Any = {"kind": where, "agent": "booker"}
        about["name"] = "anthropic:claude-haiku-4-5" if where == "llm" else "book"
        for number in range(1, attempts + 1):
            run.tell(ev.StepStarted(**about, attempt=number, epoch=1), node, parent)
            if not in_doubt:
                run.tell(ev.StepEnded(attempt=number, fault=facts, seconds=0.4), node, parent)
            if number < attempts:
                wait: dict[str, Any] = {"attempt": number + 1, "max_attempts": attempts, "until": run.at}
                run.tell(ev.RetryScheduled(**wait, delay_s=0.5 * number, source="backoff"), node, parent)
        if not attempts:
            run.tell(ev.StepRequested(**about), node, parent)
    done = action_of(cause, where) | (action or {}) | ({"permission": need} if need else {})
    offered, safe = options_for(facts, where, in_doubt=in_doubt, need=need, question=bool(question))
    opened = ev.IncidentOpened(
        incident_id=f"i-{len(run.state.incidents) + 1}",
        fault=facts,
        error_type=facts.exception,
        message=facts.technical,
        traceback=TRACEBACK,
        options=offered,
        safe=safe,
        lineage=lineage,
        action=done,
        question=question,
        in_doubt=in_doubt,
    )
    run.tell(opened, node, parent)
    return run


def _node(run: Told, where: FaultSite) -> tuple[str, str, tuple[str, ...]]:
    step = f"flow/booker/{len(run.events)}"
    match where:
        case "llm":
            return step, "flow/booker", ("flow", "booker", "anthropic:claude-haiku-4-5")
        case "tool" | "value":
            return step, "flow/booker", ("flow", "booker", "book")
        case "agent":
            return "flow/booker", "flow", ("flow", "booker")
        case "group" | "swarm":
            run.tell(ev.NodeClosed(state="failed", error="it failed"), "flow/booker", "flow")
            return "flow", "", ("flow",)
        case "run":
            return "", "", ()


def every_failure() -> Iterator[tuple[str, Told]]:
    """Each cause at each kind of place."""
    places: tuple[FaultSite, ...] = ("llm", "tool", "agent", "swarm", "run")
    for cause in Cause:
        for where in places:
            yield f"{cause.value} at {where}", failed(cause, where)


def every_kind() -> Iterator[tuple[str, Told]]:
    """What is not a plain failure."""
    none = Effect.NOT_ATTEMPTED
    missing = Cause.MISSING_INPUT
    yield "permission", failed(Cause.PERMISSION_DENIED, attempts=0, need="fs.write:/srv/a.md", effect=none)
    also = {"tool": "book", "arguments": {}, "also_needs": ["shell", "net:a.example.com:443"]}
    yield "one of three", failed(Cause.PERMISSION_DENIED, attempts=0, need="fs.write:/a.md", effect=none, action=also)
    yield "question", failed(missing, "value", attempts=0, question="Which days?", effect=none)
    yield "breakpoint", failed(missing, attempts=0, rule_id="breakpoint", effect=none)
    yield "in doubt", failed(Cause.CANCELLED, attempts=1, in_doubt=True, effect=Effect.UNKNOWN)
    work = {"at_work": ["book"]}
    yield "no progress", failed(Cause.TIMEOUT, "run", rule_id="stall.no-progress", action=work, effect=none)
