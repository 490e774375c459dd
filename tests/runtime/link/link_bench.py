"""A workspace with a real journal, real decisions, a serving end on real sockets, runs driven by hand."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from runtime.daemon import sockets
from runtime.daemon.log_file import log_path
from runtime.execution.execution_config import ExecutionConfig
from runtime.execution.view_redaction import ViewRedactor
from runtime.link.client.client import LinkClient
from runtime.link.server.reply_streams import ReplyStreams
from runtime.link.server.server import LinkServer
from runtime.link.server.verbs import operation_verbs, runtime_verbs
from runtime.link.transports.transport import UnixTransport
from runtime.link.wire import protocol as p
from runtime.link.wire.framing import LineReader
from runtime.link.wire.message_parser import parse_message
from runtime.operations.context import OperationContext
from runtime.operations.operations import Operations
from runtime.operations.requests.reports import RuntimeStatus
from runtime.record.journal import Lease
from runtime.record.journal_care import JournalCare
from runtime.record.places import open_journal
from runtime.record.state import events as ev
from runtime.record.state.durable_run import DurableRun, fold_events
from runtime.record.state.fault_taxonomy import (
    Cause,
    Classification,
    Origin,
    Persistence,
)
from runtime.record.state.operator_terms import Role

SWARM = "swarm.py:team"
FAULT = Classification(origin=Origin.TOOL, cause=Cause.UNKNOWN, persistence=Persistence.UNKNOWN)


class Driver:
    """Writes a run's events as a drive would, from a journal object of its own."""

    def __init__(self, journal: JournalCare, lease: Lease, state: DurableRun) -> None:
        self.journal = journal
        self.lease = lease
        self.state = state

    @property
    def run_id(self) -> str:
        return self.lease.run_id

    async def write(self, *events: ev.JournalEvent) -> None:
        for event in events:
            self.state.apply(event)
        await self.journal.append(self.lease, events, summary=self.state.summary())

    async def truth(self) -> DurableRun:
        """The run as the journal has it."""
        return fold_events(await self.journal.read(self.run_id))

    async def nodes(self, *names: str) -> None:
        await self.write(*(ev.NodeOpened(node_id=name, kind="agent", name=name) for name in names))

    async def incident(self, incident_id: str = "i-1", node_id: str = "", **given: Any) -> None:
        options = (ev.Option(id="retry", label="Retry operation"), ev.Option(id="abort", label="Abort execution"))
        await self.write(
            ev.IncidentOpened(
                incident_id=incident_id,
                node_id=node_id,
                fault=FAULT,
                options=options,
                **given,
            )
        )


async def watched(client: LinkClient, run_id: str = "run-1") -> None:
    """Watch a run, until the console has been told it."""
    client.watch(run_id)
    await client.wait_until(lambda: client.run(run_id) is not None)


class Bench:
    """A workspace. `serve` may be called again after `stop`: another life of the runtime on the same journal."""

    def __init__(self, state_dir: Path) -> None:
        self.state_dir = state_dir
        self.workspace = state_dir.parent
        self.stopping = asyncio.Event()
        self.hints = asyncio.Event()
        self.server: LinkServer | None = None
        self.serving: JournalCare | None = None
        self.driving: JournalCare | None = None
        self.sockets: sockets.Sockets | None = None
        self.streams = ReplyStreams()
        self.clients: list[LinkClient] = []
        self.tasks: list[asyncio.Task[Any]] = []

    async def open(self) -> JournalCare:
        if self.driving is None:
            self.driving = await open_journal(self.state_dir)
        return self.driving

    async def serve(self, **settings: Any) -> LinkServer:
        await self.open()
        self.serving = await open_journal(self.state_dir)
        views: ViewRedactor | None = settings.get("views")
        config = ExecutionConfig(
            workspace=str(self.workspace),
            redact=views.patterns if views is not None else (),
            redact_views=views is not None and views.masked,
        )
        context = OperationContext(self.serving, self.workspace, log_path(self.state_dir), config, hint=self.hints.set)
        verbs = operation_verbs(Operations(context))
        verbs |= runtime_verbs(lambda: RuntimeStatus(driving=True), self.stopping.set)
        self.server = LinkServer(self.serving, verbs, streams=self.streams, program="orbiter-console test", **settings)
        await self.server.start()
        self.sockets = sockets.listen(self.state_dir)
        for role, sock in self.sockets.by_role.items():
            await self.server.listen(sock, role)
        return self.server

    async def stop(self) -> None:
        if self.server is not None:
            await self.server.close()
            self.server = None
        if self.sockets is not None:
            self.sockets.close()
            self.sockets = None
        if self.serving is not None:
            await self.serving.close()
            self.serving = None

    async def console(self, role: Role = "operator", **settings: Any) -> LinkClient:
        """A console that has been told the picture."""
        client = LinkClient(UnixTransport(self.state_dir, role=role), **settings)
        self.clients.append(client)
        client.start()
        await client.wait_until(lambda: client.ready)
        return client

    async def watching(self, run_id: str = "run-1", role: Role = "operator", **settings: Any) -> LinkClient:
        """A console that has been told a run."""
        client = await self.console(role, **settings)
        await watched(client, run_id)
        return client

    async def driver(self, run_id: str) -> Driver:
        journal = await self.open()
        lease = await journal.claim(run_id, "bench", 600.0)
        assert lease is not None
        state = DurableRun()
        for event in await journal.read(run_id):
            state.apply(event)
        driver = Driver(journal, lease, state)
        await driver.write(ev.RunStarted(epoch=lease.epoch))
        return driver

    async def started(self, run_id: str = "run-1", *, title: str = "team") -> Driver:
        """A run that is being driven."""
        journal = await self.open()
        created = ev.RunCreated(run_id=run_id, ref=SWARM, title=title)
        state = DurableRun()
        state.apply(created)
        assert await journal.create(created, state.summary())
        return await self.driver(run_id)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(work)
        self.tasks.append(task)
        return task

    async def close(self) -> None:
        for client in self.clients:
            await client.close()
        await asyncio.sleep(0)  # a task that is cancelled before its first step never comes to what it would close
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.stop()
        if self.driving is not None:
            await self.driving.close()


class Raw:
    """A console that says what it likes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._lines = LineReader()
        self._found: list[bytes] = []

    @classmethod
    async def dial(cls, bench: Bench, role: Role = "operator") -> Raw:
        return cls(*await asyncio.open_unix_connection(sock=sockets.dial(bench.state_dir, role)))

    async def hear(self) -> p.RuntimeMessage:
        while not self._found:
            data = await self.reader.read(65536)
            if not data:
                raise EOFError
            self._found = self._lines.feed(data)
        return parse_message(self._found.pop(0))

    def say(self, data: bytes) -> None:
        self.writer.write(data)

    async def end(self) -> None:
        self.writer.close()
        await self.writer.wait_closed()
