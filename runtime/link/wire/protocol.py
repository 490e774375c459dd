"""The messages of the link: one JSON object a line, told apart by `t`.

Two things are told, each with a place of its own from which a console goes on after a cut:

* the *picture*: a summary of every run, the inbox of open incidents, the grants. Its changes are counted by the
  serving process (`position`), whose start is the `epoch`. `attach` names both; the answer is what came since, or a
  snapshot that says why: ``first``, ``gap`` (too long ago), ``epoch`` (another process serves by now), ``slow``.
* the *runs* that a console watches: their events, counted by the journal (`seq`, per run, across restarts).
  `watch` names the last one that the console has; the answer is what came since, or the run's state.

A console acknowledges how many messages of the stream (all but hello, replies, pongs, refusals) it has taken in. Not
more than `window` are under way; who falls behind gets a fresh snapshot, not a flood of old news. Fields that a
reader does not know are ignored; a message that it does not know is answered with `refused`, in words.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from runtime.link.wire.startup_messages import (
    PROTOCOL_VERSION,
    STREAM_TYPES,
    Ack,
    Attach,
    DeltaKind,
    Hello,
    InboxRow,
    InvalidMessage,
    Message,
    Ping,
    Pong,
    Role,
    SnapshotReason,
    StartupMessage,
    WorkspaceChange,
    WorkspaceSnapshot,
    parse_startup_message,
)

if TYPE_CHECKING:
    from runtime.link.wire.messages import (
        Command,
        CommandReply,
        ConsoleMessage,
        Delta,
        Identify,
        LaterMessage,
        MessagePart,
        MessageRefused,
        RunEvent,
        RunSnapshot,
        RuntimeMessage,
        Unwatch,
        Watch,
        new_command_id,
        parse_console_message,
    )

__all__ = [
    "PROTOCOL_VERSION",
    "STREAM_TYPES",
    "Ack",
    "Attach",
    "Command",
    "CommandReply",
    "ConsoleMessage",
    "Delta",
    "DeltaKind",
    "Hello",
    "Identify",
    "InboxRow",
    "InvalidMessage",
    "LaterMessage",
    "Message",
    "MessagePart",
    "MessageRefused",
    "Ping",
    "Pong",
    "Role",
    "RunEvent",
    "RunSnapshot",
    "RuntimeMessage",
    "SnapshotReason",
    "StartupMessage",
    "Unwatch",
    "Watch",
    "WorkspaceChange",
    "WorkspaceSnapshot",
    "new_command_id",
    "parse_console_message",
    "parse_message",
]


def __getattr__(name: str) -> Any:
    """What is not among the first words is loaded with the first of it that somebody names: it brings pydantic along,
    and the vocabulary of events.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("runtime.link.wire.messages"), name)


def parse_message(line: bytes) -> RuntimeMessage:
    """The message of a runtime in `line`. Raises `InvalidMessage`."""
    found = parse_startup_message(line)
    if found is not None:
        return found
    from runtime.link.wire.messages import parse_runtime_message

    return parse_runtime_message(line)
