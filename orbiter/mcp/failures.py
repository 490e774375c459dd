"""What can go wrong with a server, and what is to follow: the facts for the classifier of a runtime."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from orbiter.errors import ConfigurationError, OrbiterError
from orbiter.mcp.foreign_text import clean_line
from orbiter.redaction import held_secrets, redact
from orbiter.severity import ErrorClassification, ErrorSeverity

_MAX_INVALID = 3
"""Parts of a message that is not valid that are named."""


class ServerUnreachable(ConnectionError):
    """A server cannot be started or reached: nothing was sent to it."""


class ServerLost(ConnectionError):
    """A server went away while it worked on a request: whether that took effect is not known."""


class QuestionRefused(ServerLost):
    """A tool had begun, and its question could not be asked in the protocol that was agreed."""

    def __init__(self, server: str, tool: str, why_not: str = "") -> None:
        """`why_not`: why no other protocol can carry it."""
        then = f", and that cannot be used: {why_not}" if why_not else ": the next call uses it"
        super().__init__(f"{tool} of {server!r} asked during the call, which needs an earlier MCP protocol{then}")


class UnusableToolList(OrbiterError):
    """A server answered, and what it gave for the list of its tools is not one."""


class LoginNeeded(OrbiterError):
    """A server wants a login, and none that it takes is kept."""

    def __init__(self, server: str, refused: str = "") -> None:
        if refused:
            super().__init__(
                f"the MCP server {server!r} refused the login ({refused}): look at 'client_id', 'client_secret' and"
                " 'issuer' in its definition, then retry"
            )
        else:
            super().__init__(
                f"the MCP server {server!r} wants a login: run 'orbiter-console mcp-login {server}', or give its"
                ' \'headers\' a token, for example {"Authorization": "Bearer ${TOKEN}"}, then retry'
            )


class PastedAddressError(OrbiterError):
    """What was pasted is not the address to which the browser was sent."""


class ExtraMissing(ConfigurationError):
    """The SDK is not installed."""

    def __init__(self) -> None:
        super().__init__("MCP servers need the extra 'mcp': install it with pip install 'orbiter-console[mcp]'")


def classify_error(exc: Exception, context: Mapping[str, Any]) -> ErrorClassification | None:
    """A server that was never reached may be tried again: that failure had no effect. The rest is judged by type."""
    if isinstance(exc, ServerUnreachable):
        return ErrorClassification(ErrorSeverity.RETRIABLE)
    return None


def said_by(exc: BaseException) -> str:
    """What an error says, on one line, without tokens."""
    said = invalid_parts(exc) if isinstance(exc, ValidationError) else str(exc)
    text = f"{type(exc).__name__}: {said}" if said else type(exc).__name__
    return clean_line(redact(text, held_secrets()), 500)


def invalid_parts(exc: ValidationError) -> str:
    """What is wrong with a message of a server, and where in it: the first of it."""
    found = exc.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{'.'.join(map(str, each['loc'])) or 'the message'}: {each['msg']}" for each in found[:_MAX_INVALID]]
    more = f"; and {len(found) - _MAX_INVALID} more" if len(found) > _MAX_INVALID else ""
    return clean_line(f"not valid ({'; '.join(told)}{more})", 500)


def leaf_error(exc: BaseException) -> BaseException:
    """What is at the bottom of groups of exceptions: the first that is not a group."""
    return next(_leaves(exc), exc)


def _leaves(exc: BaseException) -> Iterator[BaseException]:
    if isinstance(exc, BaseExceptionGroup):
        for each in exc.exceptions:
            yield from _leaves(each)
    else:
        yield exc
