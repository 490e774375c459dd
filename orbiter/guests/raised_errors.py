"""What a tool or a model raised, where code of the agent's own is told of it: recorded, and raised again when it is
recalled.

An exception comes back as one of its class, with what it holds as JSON; of a class that is not loaded, as one of the
nearest class above it. The exceptions that it holds or was raised from, and a server's reply, come back as such. Any
other object that it holds comes back with its plain fields only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from types import SimpleNamespace
from typing import Any, Protocol

from orbiter.guests.http_replies import dump_reply, dump_request, load_reply, load_request
from orbiter.guests.typed_values import as_json, loaded_class, name_of

_OBJECT = "__object__"
"""The key of an object's fields, in place of the object."""
_ERROR, _REPLY, _REQUEST, _LIST = "__error__", "__reply__", "__request__", "__list__"
"""The keys of an exception, of a reply and a request of HTTP, and of a sequence that has such in it."""
_DEEPEST = 4
"""So deep are exceptions within exceptions recorded."""


@dataclass(slots=True, frozen=True)
class RaisedError:
    """An exception as JSON. `classes`: its own and those above it, as ``module:name``. `cause`: what it was raised
    from.
    """

    classes: list[str]
    text: str
    arguments: list[Any]
    attributes: dict[str, Any]
    cause: dict[str, Any] | None = None

    @classmethod
    def of(cls, error: BaseException, depth: int = 0) -> RaisedError:
        """What is recorded of an exception."""
        attributes = {name: _plain(value, depth) for name, value in vars(error).items()}
        cause = error.__cause__
        inner = asdict(cls.of(cause, depth + 1)) if cause is not None and depth < _DEEPEST else None
        return cls(_names(type(error)), _text(error), [_plain(each, depth) for each in error.args], attributes, inner)

    def restore(self) -> Exception:
        """The exception."""
        error = self._made()
        if self.cause is not None:
            error.__cause__ = RaisedError(**self.cause).restore()
        return error

    def _made(self) -> Exception:
        for at in range(len(self.classes)):
            found = _class(self.classes[at:])
            if found is not None and (error := self._as(found, itself=at == 0)) is not None:
                return error
        return RuntimeError(self.text)

    def _as(self, found: type[Exception], *, itself: bool) -> Exception | None:
        """As an exception of this class; None where its text would be another. It is not made by its `__init__`, which
        may want other arguments than it keeps.
        """
        try:
            error = found.__new__(found, *(map(_restored, self.arguments) if itself else (self.text,)))
            error.__dict__.update({name: _restored(value) for name, value in self.attributes.items()})
            return error if str(error) == self.text else None
        except Exception:  # its class has a say in both
            return None


class Asking(Protocol):
    """A call that keeps what it raised in this life."""

    error: Exception | None


@contextmanager
def keeping_error(ask: Asking) -> Iterator[None]:
    """Keep what is raised inside."""
    try:
        yield
    except Exception as exc:
        ask.error = exc
        raise


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, BaseException):
        return {_ERROR: asdict(RaisedError.of(value, depth + 1))} if depth < _DEEPEST else _text(value)
    if isinstance(value, list | tuple) and any(isinstance(each, BaseException) for each in value):
        return {_LIST: [_plain(each, depth) for each in value]}
    if (reply := dump_reply(value)) is not None:
        return {_REPLY: reply}
    if (request := dump_request(value)) is not None:
        return {_REQUEST: request}
    fields = getattr(value, "__dict__", None)
    if isinstance(fields, Mapping) and not isinstance(value, type):
        kept = {name: each for name, each in fields.items() if isinstance(each, str | int | float | bool | None)}
        return {_OBJECT: kept}
    return as_json(value)


def _restored(value: Any) -> Any:
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, kept),) = value.items()
    if kind == _OBJECT:
        return SimpleNamespace(**kept)
    if kind == _ERROR:
        return RaisedError(**kept).restore()
    if kind == _LIST:
        return [_restored(each) for each in kept]
    if kind == _REPLY:
        return load_reply(kept)
    return load_request(kept) if kind == _REQUEST else value


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return type(error).__name__


def _names(found: type[BaseException]) -> list[str]:
    return [name_of(each) for each in found.__mro__ if issubclass(each, Exception)]


def _class(names: Sequence[str]) -> type[Exception] | None:
    """The class that has these names, its own and those above it. One that has the name of another is looked for among
    the classes that are made of the one above it.
    """
    named = loaded_class(names[0])
    if named is not None and issubclass(named, Exception) and _names(named) == list(names):
        return named
    above = loaded_class(names[1]) if len(names) > 1 else None
    if above is not None and issubclass(above, Exception):
        for each in _below(above):
            if _names(each) == list(names):
                return each
    return named if named is not None and issubclass(named, Exception) else None


def _below(found: type[Exception]) -> Iterator[type[Exception]]:
    for each in found.__subclasses__():
        yield each
        yield from _below(each)
