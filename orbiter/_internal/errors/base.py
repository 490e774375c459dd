"""The base of all errors: message, code, context, suggestion, and fields that a class declares."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, ClassVar


class OrbiterError(Exception):
    """Base exception for all Orbiter errors.

    `str()` is the message; what to do about it is in `suggestion` (also readable and settable as ``hint``). A
    `ConfigurationError` has a suggestion "Did you mean …" in its `str()` too.
    Subclasses declare fields of their own as annotated class attributes with defaults. Each may be given as a keyword
    or in `context`, and then stands in both.

    Args:
        message: What went wrong, where.
        error_code: A stable code for programs; the class's name if not given.
        context: Facts about the failure, JSON-able.
        suggestion: What to do instead.
        recoverable: Whether the same operation can be made to succeed; the class's default if not given.
        hint: Another name of `suggestion`.
        **fields: Values for the class's own fields; every error may name its agent as ``agent_name``.

    Raises:
        TypeError: A keyword that the class does not declare, or a context that is not a mapping.

    Examples:
        >>> from orbiter import OrbiterError
        >>> error = OrbiterError("The file is empty", suggestion="Write a swarm into it.")
        >>> str(error), error.suggestion
        ('The file is empty', 'Write a swarm into it.')
    """

    recoverable: bool = False
    agent_name: str | None = None
    _fields: ClassVar[frozenset[str]] = frozenset({"agent_name"})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        own = {name for name in inspect.get_annotations(cls) if name in vars(cls)}
        inherited: list[frozenset[str]] = [getattr(base, "_fields", frozenset()) for base in cls.__bases__]
        cls._fields = frozenset(own - {"recoverable", "_fields"}).union(*inherited)

    def __init__(
        self,
        message: object = "",
        error_code: str | None = None,
        context: Mapping[str, Any] | None = None,
        suggestion: str | None = None,
        recoverable: bool | None = None,
        *,
        hint: str | None = None,
        **fields: Any,
    ) -> None:
        # Not super(): an error that is also of a foreign class must not run that class's __init__.
        Exception.__init__(self, message)
        self.message = str(message)
        self.error_code = error_code or type(self).__name__
        if context is not None and not isinstance(context, Mapping):
            raise TypeError(
                f"{type(self).__name__}: context must be a mapping of facts, for example {{'status_code': 503}}, "
                f"got {context!r}"
            )
        self.context: dict[str, Any] = dict(context) if context else {}
        self.suggestion = suggestion if suggestion is not None else hint
        self.timestamp = datetime.now(UTC)
        if recoverable is not None:
            self.recoverable = recoverable
        for name, value in fields.items():
            if name not in self._fields:
                known = ", ".join(sorted(self._fields)) or "none"
                raise TypeError(f"{type(self).__name__} has no field '{name}'; its own fields: {known}")
            setattr(self, name, value)
            if value is not None:
                self.context.setdefault(name, value)
        for name in self._fields & self.context.keys() - fields.keys():
            setattr(self, name, self.context[name])

    @property
    def hint(self) -> str | None:
        """What to do instead; another name of `suggestion`."""
        return self.suggestion

    @hint.setter
    def hint(self, value: str | None) -> None:
        self.suggestion = value

    def to_dict(self) -> dict[str, Any]:
        """The error for a log: type, code, message, context, suggestion, recoverable and time stamp (ISO 8601, UTC)."""
        return {
            "error_type": type(self).__name__,
            "error_code": self.error_code,
            "message": self.message,
            "context": dict(self.context),
            "suggestion": self.suggestion,
            "recoverable": self.recoverable,
            "timestamp": self.timestamp.isoformat(),
        }


# Names of seed 003 and of seed 000's samples.
MarsysError = OrbiterError
AgentFrameworkError = OrbiterError
