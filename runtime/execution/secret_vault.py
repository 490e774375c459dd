"""The vault of secrets that operators gave to this process, or to all workers that have the workspace's keys: what was
opened is in memory only.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from orbiter.redaction import (
    MIN_LENGTH_ANYWHERE,
    MIN_SECRET_LENGTH,
    REDACTED,
    environment_secrets,
    held_secrets,
    mask_secrets,
)
from runtime.judgement.recovery.secret_box import KeyPair, SealError, unseal
from runtime.record.state import events as ev

if TYPE_CHECKING:
    from orbiter.redaction import Redactor
    from orbiter.steps import Step

E = TypeVar("E", bound=ev.JournalEvent)


class SecretVault:
    """A key pair, made when it is first needed, and what was opened with it. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pair: KeyPair | None = None
        self._shared: tuple[KeyPair, ...] = ()
        self._known: dict[str, None] = {}

    @property
    def public_key(self) -> str:
        """What to seal a secret with: the workspace's newest key, or that of this process."""
        return self._shared[-1].public if self._shared else self._keys().public

    def share(self, keys: Sequence[KeyPair]) -> None:
        """From now on secrets are sealed to the last of these keys, which other workers have as well."""
        self._shared = tuple(keys)

    def open(self, sealed: Mapping[str, Any]) -> str | None:
        """The secret, as JSON; None if it was for a process that is gone, or for a key that is not here."""
        for pair in (*reversed(self._shared), self._keys()):
            try:
                found = unseal(pair, sealed)
            except SealError:
                continue
            break
        else:
            return None
        self._known.update(
            dict.fromkeys(each for each in _strings_in(json.loads(found)) if len(each) >= MIN_SECRET_LENGTH)
        )
        return found

    def known_values(self) -> tuple[str, ...]:
        """Every secret that was opened here, and the tokens in use: what is masked in texts that quote one."""
        return (*self._known, *held_secrets()) if self._known else held_secrets()

    def mask(self, text: str) -> str:
        """`text` without them. To be called before a text is cut: of half a secret nothing would be found later."""
        return mask_secrets(text, secrets) if (secrets := self.known_values()) else text

    def _keys(self) -> KeyPair:
        with self._lock:
            if self._pair is None:
                self._pair = KeyPair.generate()
            return self._pair


def _strings_in(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, list):
        for each in value:
            yield from _strings_in(each)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


VAULT = SecretVault()
"""This process's. A run that leaves memory and comes back is of the same process, so one life cannot own it."""


def make_redactor(patterns: Iterable[str] = (), *, addresses: bool = True) -> Redactor:
    """The redactor of this process: it knows what was opened here, and the secrets in the environment as it is now."""
    return _redactor_of(tuple(patterns), (*VAULT.known_values(), *environment_secrets()), addresses)


@lru_cache(maxsize=4)
def _redactor_of(patterns: tuple[str, ...], secrets: tuple[str, ...], addresses: bool) -> Redactor:
    """A redactor has no state: the same serves until a pattern or a secret is another. A log asks for each line."""
    from orbiter.redaction import Redactor

    return Redactor(patterns, secrets, addresses=addresses)


_UNMASKED_FIELDS = frozenset(
    {
        "result", "output", "error", "text", "texts", "message", "summary", "reason", "requested", "effective",
        "changes", "info", "action", "question", "task", "traceback", "causes", "input",
        "url",
    }
)  # fmt: skip
"""Fields of events that hold what user code, a tool or a model said; the others hold words of ours."""


def masked_event(event: ev.JournalEvent) -> ev.JournalEvent:
    """The event without any secret that was opened here: one may come back in a result, an error, a call's arguments,
    and none is ever journaled in clear.
    """
    secrets = VAULT.known_values()
    return mask_texts(event, lambda value: _mask_value(value, secrets)) if secrets else event


def mask_texts(event: E, mask: Callable[[Any], Any]) -> E:
    """The event with `mask` applied to what user code, a tool or a model said. To be called before a text is made of it
    that is cut: half of a secret is not found.
    """
    fields = type(event).__struct_fields__
    update = _masked_fields(event, _UNMASKED_FIELDS.intersection(fields), mask)
    fault = getattr(event, "fault", None)
    if fault is not None:
        said = ("user_message", "rule_message", "technical", "suggestions", "metadata", "context")
        update["fault"] = replace(fault, **_masked_fields(fault, said, mask))
    return replace(event, **update)


def _masked_fields(part: Any, names: Iterable[str], mask: Callable[[Any], Any]) -> dict[str, Any]:
    """A mask returns a list for a tuple; a field that was a tuple stays one."""
    found = {name: getattr(part, name) for name in names}
    return {name: tuple(mask(each)) if isinstance(each, tuple) else mask(each) for name, each in found.items()}


def recorded_arguments(step: Step[Any, Any]) -> dict[str, Any]:
    """What is recorded of a step's arguments. A model may be told a secret, but what its question is known by later may
    not depend on one: the life that recalls it has only what was kept.
    """
    if not (secrets := VAULT.known_values()):
        return step.codec.describe(step.arguments)
    return step.codec.describe_masked(step.arguments, lambda value: _mask_value(value, secrets))


def _mask_value(value: Any, secrets: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return mask_secrets(value, secrets)
    if isinstance(value, Mapping):
        # A short one that is the name of a field would take the field away.
        in_keys = tuple(each for each in secrets if len(each) >= MIN_LENGTH_ANYWHERE)
        return {_mask_value(key, in_keys): _mask_value(each, secrets) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_mask_value(each, secrets) for each in value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return REDACTED if str(value) in secrets else value
    return value
