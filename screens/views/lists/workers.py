"""Rows of the page of workers: what each drives, and runs for which there is none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from runtime.operations.requests.workers import UnservedRuns, Worker, WorkerList
from runtime.record.state.durable_run import Summary
from screens.render.formatting import format_ago, pluralize
from screens.render.glyphs import state_ink
from screens.render.layout import Column, Part, Row, Span, Spans, join_spans, span, with_headings
from screens.views.lists.runs import title_of
from screens.views.shared.render_context import RenderContext

WORKER_COLUMNS: Final = (
    Column("state", width=11),
    Column("worker", width=20, grow=2),
    Column("runs", width=10),
    Column("code", width=12, grow=1),
    Column("heard", width=12, drop=2),
    Column("about", width=22, grow=4, drop=1),
)
WORKER_KEY_PREFIX: Final = "worker:"
UNSERVED_KEY_PREFIX: Final = "unserved:"
"""How keys of rows begin: of a worker, then its host and id; of a run without one, then its host and id."""
_STATES: Final = {"working": "running", "draining": "waiting", "lost": "failed"}


@dataclass(frozen=True, slots=True)
class HostWorkers:
    """What one host's runtime said of the workers of its workspace, and when."""

    host: str
    at: datetime
    found: WorkerList


def worker_rows(told: Iterable[HostWorkers], summaries: Mapping[str, Summary], context: RenderContext) -> list[Row]:
    """Runs that no worker takes up first, then the workers, in the order in which they came."""
    told = list(told)
    unserved = [
        _unserved_row(each.host, label, run_id, summaries, context)
        for each in told
        for label in each.found.unserved
        for run_id in label.runs
    ]
    workers = [_worker_row(each, worker, context) for each in told for worker in each.found.workers]
    return with_headings(
        (Part("Runs without a worker", "severity-warning", unserved), Part("Workers", "ink-accent", workers))
    )


def _worker_row(told: HostWorkers, worker: Worker, context: RenderContext) -> Row:
    heard = told.at - timedelta(seconds=worker.heard_s)
    keys = ", ".join(context.sanitize_line(name, 40) for name in worker.keys)
    queues = ", ".join(context.sanitize_line(name, 40) for name in worker.named_queues)
    about = join_spans(
        (
            span(context.sanitize_line(worker.held_up, 300), state_ink("failed")),
            span(f"queues: {queues}") if queues else (),
            span(f"keys: {keys}" if keys else "no provider's key", "ink-muted"),
            span(context.sanitize_line(worker.program, 60), "ink-muted"),
        ),
        context.glyphs.dot,
    )
    place = context.sanitize_line(worker.place, 80)
    return Row(
        f"{WORKER_KEY_PREFIX}{told.host}\n{worker.id}",
        (
            context.state_spans(_STATES[worker.state], worker.state),
            context.at_host(span(place, "ink-strong"), told.host),
            span(f"{len(worker.driving)} of {worker.slots}"),
            _code(worker.code, context),
            span(format_ago(heard, context.now), state_ink("failed") if worker.state == "lost" else "ink-muted"),
            about,
        ),
        values=(worker.state, place, len(worker.driving), worker.code, -worker.heard_s, worker.held_up),
        fault=worker.state == "lost" or bool(worker.held_up),
    )


def _unserved_row(
    host: str, label: UnservedRuns, run_id: str, summaries: Mapping[str, Summary], context: RenderContext
) -> Row:
    summary = summaries.get(run_id)
    title = title_of(summary, context) if summary is not None else context.sanitize_line(run_id, 60)
    words = context.sanitize_line(f"waits for {label.need}", 200)
    return Row(
        f"{UNSERVED_KEY_PREFIX}{host}\n{run_id}",
        (
            context.state_spans("waiting", "no worker"),
            context.at_host(span(title, "ink-strong"), host),
            (),
            _code(label.code, context),
            (),
            (Span(words, state_ink("waiting")),),
        ),
        values=("no worker", title, 0, label.code, 0.0, words),
        fault=True,
    )


def _code(code: str, context: RenderContext) -> Spans:
    return span(context.sanitize_line(code, 60)) if code else span("any", "ink-muted")


class MoveTarget(NamedTuple):
    """Workers that would take a run up."""

    code: str
    """The label of their code."""
    queue: str
    """A queue that they take; empty: the run's own."""

    @property
    def words(self) -> str:
        """They, after the word ``to``."""
        return f"code {self.code or 'any'}" + (f", queue {self.queue}" if self.queue else "")


def move_target(found: WorkerList, run_id: str) -> MoveTarget | None:
    """The newest worker that takes the run's queue; where none does, the newest one of all. None: no worker takes up
    runs.
    """
    working = [each for each in found.workers if each.state == "working"]
    queue = next((each.queue for each in found.unserved if run_id in each.runs), "")
    taking = [each for each in working if not each.queues or queue in each.queues]
    if taking:
        return MoveTarget(taking[-1].code, "")
    return MoveTarget(working[-1].code, working[-1].queues[0]) if working else None


def workforce_words(told: Iterable[HostWorkers], context: RenderContext) -> Spans:
    """How many runs are driven, in how many slots, and how many have no worker."""
    told = list(told)
    workers = [worker for each in told for worker in each.found.workers if worker.state == "working"]
    unserved = sum(len(label.runs) for each in told for label in each.found.unserved)
    driven, slots = sum(len(each.driving) for each in workers), sum(each.slots for each in workers)
    return join_spans(
        (
            span(f"{pluralize(len(workers), 'worker')} at work"),
            span(f"{driven} of {slots} slots in use"),
            context.state_spans("waiting", f"{pluralize(unserved, 'run')} without a worker") if unserved else (),
        ),
        context.glyphs.dot,
    )
