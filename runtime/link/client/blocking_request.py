"""A request to the runtime of a workspace from a process that does nothing else: no event loop, no events.

What is not carried out this way is for the caller to do on the journal: slower, and it says why it cannot be done.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from msgspec import json

from runtime.daemon import sockets
from runtime.daemon.errors import DaemonError
from runtime.daemon.line_client import LineClient
from runtime.link.wire.framing import MAX_WHOLE_BYTES
from runtime.link.wire.protocol import PROTOCOL_VERSION
from runtime.operations.requests.codec import InvalidField, decode_result, encode
from runtime.operations.requests.struct import Request

R = TypeVar("R")

HELLO_TIMEOUT_S = 2.0
"""A runtime that takes longer to say that it is there is left alone: the journal can be written without it."""
REPLY_TIMEOUT_S = 60.0


def ask_runtime(state_dir: str | Path, request: Request[R]) -> R | None:
    """Have the workspace's runtime carry out a request.

    Args:
        state_dir: The workspace's state directory.
        request: What is asked; it counts as typed on the command line (`cli`).

    Returns:
        The result. None where nothing was done: no runtime answers, it is of another protocol, it refuses, or the
        request is too long for one line.

    Raises:
        DaemonError: The request was sent, and whether it was carried out is not known: the reply did not come, or is
            not the result that was expected.
    """
    args = encode(request)
    if len(json.encode(args)) > MAX_WHOLE_BYTES // 2:
        return None
    try:
        sock = sockets.dial(state_dir)
    except OSError:
        return None
    with sock:
        try:
            client = LineClient(sock, HELLO_TIMEOUT_S)
        except DaemonError:
            return None
        if client.hello.get("proto") != PROTOCOL_VERSION:
            return None
        reply = client.request(type(request).verb, args, timeout=REPLY_TIMEOUT_S)
    if not reply.get("ok"):
        return None
    try:
        return decode_result(request, reply.get("result"))
    except InvalidField as exc:
        raise DaemonError(f"the runtime's reply cannot be read: {exc}") from exc
