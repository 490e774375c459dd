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
    PROTO,
    STREAM,
    Ack,
    Attach,
    BadMessage,
    Changed,
    DeltaKind,
    Hello,
    Inboxed,
    Message,
    Ping,
    Pong,
    Role,
    Snapshot,
    Told,
    Why,
    told,
)

if TYPE_CHECKING:
    from runtime.link.wire.messages import (
        As,
        Command,
        Delta,
        FromConsole,
        FromRuntime,
        Later,
        Part,
        Refused,
        Reply,
        RunEvent,
        RunSnapshot,
        Unwatch,
        Watch,
        from_console,
        new_command_id,
    )

__all__ = [
    "PROTO",
    "STREAM",
    "Ack",
    "As",
    "Attach",
    "BadMessage",
    "Changed",
    "Command",
    "Delta",
    "DeltaKind",
    "FromConsole",
    "FromRuntime",
    "Hello",
    "Inboxed",
    "Later",
    "Message",
    "Part",
    "Ping",
    "Pong",
    "Refused",
    "Reply",
    "Role",
    "RunEvent",
    "RunSnapshot",
    "Snapshot",
    "Told",
    "Unwatch",
    "Watch",
    "Why",
    "from_console",
    "from_runtime",
    "new_command_id",
]


def __getattr__(name: str) -> Any:
    """What is not among the first words is loaded with the first of it that somebody names: it brings pydantic along,
    and the vocabulary of events.
    """
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("runtime.link.wire.messages"), name)


def from_runtime(line: bytes) -> FromRuntime:
    """The message of a runtime in `line`. Raises `BadMessage`."""
    found = told(line)
    if found is not None:
        return found
    from runtime.link.wire.messages import later

    return later(line)
