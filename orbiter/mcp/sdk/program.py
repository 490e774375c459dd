"""A server that is a program: started in a process group of its own, spoken to over its standard streams, and ended.

The SDK's own way to a program reads a line of any length into memory; a message has a limit here.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
from asyncio.subprocess import PIPE, Process, SubprocessStreamProtocol
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import IO, Any

import anyio
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from orbiter.mcp.definition import Server
from orbiter.mcp.failures import invalid_parts
from orbiter.mcp.sdk.watch import Watch
from orbiter.text_encoding import mend_json_text

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
"""Bytes of one message. At most twice as much is read ahead."""
MARKS = ("ORBITER_IN_RUN",)
"""Variables that a program gets beside its own: what says that a run started it."""
_END_S = 2.0
"""Seconds for a program to end when its standard input is closed; then it is told to, then killed."""
_FLUSH_S = 0.5
_ID_WITHIN = 200
_ANSWER_TO = re.compile(r'"id"\s*:\s*"?(\d{1,15})\b')
"""The id of a request of ours, which are numbers, in an answer."""
_LOOK_S = 0.01
_Started = tuple[asyncio.SubprocessTransport, SubprocessStreamProtocol]


@asynccontextmanager
async def open_program(server: Server, workspace: str, errlog: IO[str], watch: Watch) -> AsyncIterator[Any]:
    """The streams of a program, as the SDK's client takes them.

    Args:
        server: What to start, its variables expanded.
        workspace: Where it is started.
        errlog: Where its standard error goes.
        watch: Is told why nothing more is read from it, and how it ended by itself.

    Raises:
        OSError: It cannot be started.
    """
    loop = asyncio.get_running_loop()
    marks = {name: os.environ[name] for name in MARKS if name in os.environ}
    starting = loop.create_task(
        loop.subprocess_exec(
            lambda: SubprocessStreamProtocol(limit=MAX_MESSAGE_BYTES, loop=loop),
            server.command,
            *server.args,
            stdin=PIPE,
            stdout=PIPE,
            stderr=errlog,
            env=get_default_environment() | dict(server.env) | marks,
            cwd=workspace,
            start_new_session=True,
        )
    )
    transport, protocol = await _started(starting)
    process = Process(transport, protocol, loop)
    received, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, sent = anyio.create_memory_object_stream[SessionMessage](0)
    tasks = [
        asyncio.create_task(_read(process, received, watch)),
        asyncio.create_task(_write(process, sent, received)),
    ]
    try:
        yield reading, writing
    finally:
        reading.close()
        writing.close()
        try:
            with anyio.CancelScope(shield=True):
                exit_code = await _end(process, tasks)
            watch.exit_code = exit_code if watch.hung_up else None
        finally:
            transport.close()  # kills what is still there
            received.close()
            sent.close()


async def _started(starting: asyncio.Task[_Started]) -> _Started:
    """What the task starts. Where this is cancelled, the process is killed as soon as it has started.

    asyncio may wait for ever where the start itself is cancelled (python/cpython#103847).
    """
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with anyio.CancelScope(shield=True):
            await asyncio.wait({starting})
            if starting.exception() is None:
                transport, protocol = starting.result()
                process = Process(transport, protocol, asyncio.get_running_loop())
                _signal(process, signal.SIGKILL)
                await _ends_within(process, _END_S)
                transport.close()
        raise


async def _read(process: Process, received: Any, watch: Watch) -> None:
    """Hand on what it says, a message a line, until it ends or says too much."""
    assert process.stdout is not None
    async with received:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            try:
                while True:
                    await received.send(_message(await process.stdout.readuntil(b"\n")))
            except asyncio.IncompleteReadError:
                watch.hung_up = True
            except asyncio.LimitOverrunError:
                watch.problem = f"it wrote a message of more than {MAX_MESSAGE_BYTES} bytes"
            except OSError as exc:
                watch.problem = f"its standard output cannot be read: {exc}"


def _message(line: bytes) -> SessionMessage | Exception:
    """A line as a message. Of an answer that cannot be read its call is told; of any other line the session hears as an
    error.
    """
    text = line.decode("utf-8", "replace")
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValidationError as exc:
        problem = exc
    text = mend_json_text(text)
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))
    except ValidationError:
        found = _ANSWER_TO.search(text[:_ID_WITHIN])
        if found is None or '"method"' in text[:_ID_WITHIN]:
            return problem
        said = ErrorData(code=PARSE_ERROR, message=invalid_parts(problem))
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=int(found[1]), error=said))


async def _write(process: Process, sent: Any, received: Any) -> None:
    """Write what the client says. A program that reads no more has ended for us."""
    assert process.stdin is not None
    async with sent:
        async for each in sent:
            try:
                process.stdin.write(each.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n")
                await process.stdin.drain()
            except OSError:
                await received.aclose()
                return


async def _end(process: Process, tasks: list[asyncio.Task[None]]) -> int | None:
    """End it as the protocol says: close its input, wait, tell it, kill it; with what it started. The exit code, if it
    ended by itself.
    """
    assert process.stdin is not None
    reader, writer = tasks
    reader.cancel()
    await asyncio.wait({writer}, timeout=_FLUSH_S)  # what the client said at last
    writer.cancel()
    await asyncio.wait(tasks)
    process.stdin.close()
    if await _ends_within(process, _END_S):
        return process.returncode
    _signal(process, signal.SIGTERM)
    if not await _ends_within(process, _END_S):
        _signal(process, signal.SIGKILL)
        await _ends_within(process, _END_S)
    return None


async def _ends_within(process: Process, seconds: float) -> bool:
    """Looks at the return code: `wait` would wait for the ends of its streams, too, which its children may hold."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while process.returncode is None:  # noqa: ASYNC110 - there is no event for it
                await asyncio.sleep(_LOOK_S)
    return process.returncode is not None


def _signal(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)
