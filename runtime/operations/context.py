"""What handlers work with: one workspace's journal, configuration and readers; and their error.

A verb of the command line is a process of its own, so what a handler does not ask for is not imported either.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from orbiter.errors import OrbiterError
from runtime.record.journal import Journal
from runtime.record.state.summary import Summary

if TYPE_CHECKING:
    from runtime.config.configuration import Configuration
    from runtime.execution.execution_config import ExecutionConfig
    from runtime.execution.gates.breaker import BreakerRegistry
    from runtime.execution.view_redaction import ViewRedactor
    from runtime.operations.decisions import Decisions
    from runtime.operations.metrics_reader import MetricsReader
    from runtime.operations.queries import LedgerReader
    from runtime.operations.run_controls import RunControls
    from runtime.operations.usage import UsageReader
    from runtime.record.state import events as ev


class OperationError(OrbiterError):
    """An operation cannot be carried out. `error` is a word for programs, the message is for people."""

    def __init__(self, error: str, message: str, **detail: Any) -> None:
        super().__init__(message)
        self.error = error
        self.detail = detail


class Origin(NamedTuple):
    """Who asks, and the id of the command; empty on the command line. `in_run`: an agent that works inside a run, or
    of which that cannot be told.
    """

    by: ev.Actor
    command_id: str = ""
    in_run: bool = False


class OperationContext:
    """One workspace, as handlers see it.

    Args:
        journal: Where it is written.
        workspace: Where relative paths begin.
        log_file: The runtime's own log file.
        config: What the runtime goes by. None: what the workspace's files say, read when it is needed.
        hint: Wakes the workers; they would notice an act a little later without it.
    """

    def __init__(
        self,
        journal: Journal,
        workspace: Path,
        log_file: Path,
        config: ExecutionConfig | None = None,
        *,
        hint: Callable[[], None] = lambda: None,
    ) -> None:
        self.journal = journal
        self.workspace = workspace
        self.log_file = log_file
        self.hint = hint
        self._config = config

    def configuration(self) -> Configuration:
        """What the workspace's files say now.

        Raises:
            InvalidConfiguration: a file cannot be read, or something in it is wrong.
        """
        from runtime.config.loader import load_configuration

        return load_configuration(self.workspace)

    @cached_property
    def ledger(self) -> LedgerReader:
        """Every grant with its uses."""
        from runtime.operations.queries import LedgerReader

        return LedgerReader(self.journal)

    @cached_property
    def breakers(self) -> BreakerRegistry:
        """Circuit breakers in force."""
        from runtime.execution.gates.breaker import BreakerRegistry

        return BreakerRegistry(self.journal)

    @cached_property
    def config(self) -> ExecutionConfig:
        """What is configured. Raises `InvalidConfiguration`."""
        return self._config or self.configuration().execution_config()

    @cached_property
    def decisions(self) -> Decisions:
        """Answers, grants, starts and ends of runs."""
        from runtime.operations.decisions import Decisions

        if self._config is None:
            return Decisions(self.journal, self.workspace)
        return Decisions(
            self.journal,
            self.workspace,
            program=self._config.program,
            verbs=self._config.permissions.verbs,
            views=self._views(),
            queues=self._config.swarm_queues,
        )

    @cached_property
    def controls(self) -> RunControls:
        """Controls that take nothing that was shown."""
        from runtime.operations.run_controls import RunControls

        return RunControls(self.journal)

    @cached_property
    def editing_controls(self) -> RunControls:
        """Controls that take changes of what was shown, possibly with secrets masked."""
        from runtime.operations.run_controls import RunControls

        return RunControls(self.journal, self._views())

    @cached_property
    def usage(self) -> UsageReader:
        """What runs have spent."""
        from runtime.operations.usage import UsageReader

        return UsageReader(self.journal, self.config.budget)

    @cached_property
    def metrics(self) -> MetricsReader:
        """Figures for monitoring."""
        from runtime.operations.metrics_reader import MetricsReader

        return MetricsReader(self.journal, self.breakers)

    def _views(self) -> ViewRedactor:
        from runtime.execution.view_redaction import ViewRedactor

        return ViewRedactor(self.config.redact, masked=self.config.redact_views)

    async def summary(self, run_id: str) -> Summary:
        """The summary of a run.

        Raises:
            OperationError: there is no such run.
        """
        summary = await self.journal.summary(run_id)
        if summary is None:
            raise OperationError("unknown_run", f"unknown run {run_id!r}: 'orbiter-console runs' lists them")
        return summary

    async def incident(self, incident_id: str) -> tuple[str, ev.IncidentOpened, ev.IncidentAnswered | None]:
        """An incident by its id, or a unique beginning of it, with its run's id and its answer.

        Raises:
            OperationError: there is no such incident.
        """
        found = await self.journal.incident(incident_id)
        if found is None:
            raise OperationError(
                "unknown_incident",
                f"the id {incident_id} must be that of one incident, or its beginning: give more of it",
            )
        return found


Handler = Callable[[OperationContext, Any, Origin], Awaitable[Any]]
"""Carries out one kind of request."""
