"""`metrics`: figures of the workspace for monitoring, in the text format of Prometheus."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import Final

import click

from console.output import print_json, print_note, print_raw
from console.verbs.base import BadInput, cli_origin, open_for_reading, operations_on, verb
from runtime.operations.operations import Operations
from runtime.operations.requests.reports import Exposition, ReadMetrics
from runtime.record.journal import JournalError

_REQUEST_S: Final = 10.0
"""Seconds that a client has for its request."""
_MAX_HEADERS: Final = 100


@verb(reads=True)
@click.option("--listen", metavar="HOST:PORT", help="Serve them over HTTP until ctrl+c, for example on 127.0.0.1:9464.")
async def metrics(*, listen: str | None, as_json: bool) -> int:
    """Print metrics for Prometheus: runs, incidents, breakers, attempts, faults, tokens, cost, times.

    Without --listen, the text goes to stdout, for a textfile collector.
    """
    place = None if listen is None else _address(listen)
    async with open_for_reading() as journal:
        if journal is None:
            raise BadInput("nothing has been run here yet: run a swarm first, or name another place with --state")
        operations = operations_on(journal)
        if place is not None:
            await _serve(operations, *place)
            return 0
        found = await operations.run(ReadMetrics(), cli_origin())
    if as_json:
        print_json(found)
    else:
        print_raw(found.text)
    return 0


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise BadInput(f"--listen {text!r} must be HOST:PORT, for example 127.0.0.1:9464")
    return host, int(port)


async def _serve(operations: Operations, host: str, port: int) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with _closing(writer):
            async with asyncio.timeout(_REQUEST_S):
                line = await _request_line(reader)
            writer.write(await _reply(operations, line))

    try:
        server = await asyncio.start_server(answer, host, port, limit=8192)
    except OSError as exc:
        raise BadInput(f"cannot listen on {host}:{port}: {exc.strerror or exc}") from exc
    shown = server.sockets[0].getsockname()
    print_note(f"metrics on http://{shown[0]}:{shown[1]}/metrics (ctrl+c ends)")
    async with server:
        await server.serve_forever()


@asynccontextmanager
async def _closing(writer: asyncio.StreamWriter) -> AsyncIterator[None]:
    """A client that goes, is slow or sends something else than a request costs its own connection only."""
    try:
        yield
        await writer.drain()
    except (OSError, ValueError, TimeoutError, asyncio.IncompleteReadError) as exc:
        print_note(f"metrics: a client was disconnected: {type(exc).__name__}")
    finally:
        writer.close()


async def _request_line(reader: asyncio.StreamReader) -> list[bytes]:
    """The words of the request's first line; its headers are read and not used."""
    first = (await reader.readuntil(b"\n")).split()
    for _ in range(_MAX_HEADERS):
        if not (await reader.readuntil(b"\n")).strip():
            return first
    raise ValueError("too many headers")


async def _reply(operations: Operations, line: list[bytes]) -> bytes:
    if len(line) != 3 or line[0] not in (b"GET", b"HEAD"):
        return _http(HTTPStatus.METHOD_NOT_ALLOWED, Exposition(text="GET only\n", content_type="text/plain"))
    if line[1].partition(b"?")[0] not in (b"/metrics", b"/"):
        return _http(HTTPStatus.NOT_FOUND, Exposition(text="the path is /metrics\n", content_type="text/plain"))
    try:
        found = await operations.run(ReadMetrics(), cli_origin())
    except JournalError as exc:
        print_note(f"metrics: {exc}")
        return _http(HTTPStatus.INTERNAL_SERVER_ERROR, Exposition(text="", content_type="text/plain"))
    return _http(HTTPStatus.OK, found, body=line[0] == b"GET")


def _http(status: HTTPStatus, found: Exposition, *, body: bool = True) -> bytes:
    text = found.text.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {found.content_type}\r\n"
        f"Content-Length: {len(text)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + (text if body else b"")
