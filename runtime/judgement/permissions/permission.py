"""Permissions: what a step needs, and whether a grant covers it. Pure but for looking up where symlinks point.

A need is ``verb:object`` (``fs.write:/data/out.md``, ``net:api.example.com:443``) or a bare verb (``shell``). A tool
names its needs with the arguments in braces, ``fs.write:{path}``. What is compared is the canonical form of what
will be executed (real paths after symlinks, lower-case host after parsing), never the text that a model wrote.

What a pattern covers depends on the class of its verb (`runtime.judgement.permissions.patterns`). A grant never
matches outside its words.

Permissions guard steps, they are not a sandbox: code in a tool can do whatever its process can, and what was a folder
when it was checked may be a link a moment later.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

from runtime.judgement.permissions import command_matching
from runtime.judgement.permissions.canonical import (
    PermissionSyntaxError,
    canonical_address,
    canonical_object,
    canonical_path,
)
from runtime.judgement.permissions.command_matching import MatchResult
from runtime.judgement.permissions.patterns import (
    STANDARD_VERBS,
    Kind,
    Verbs,
    denial_glob,
    grant_glob,
)
from runtime.judgement.permissions.shell_commands import MatchBudget
from runtime.record.state.events import GrantAdded


class UncheckableObjectError(PermissionSyntaxError):
    """The arguments of a call name an object that cannot be checked. The text is for the model."""

    def __init__(self, verb: str, what: str) -> None:
        super().__init__(f"{verb}: {what}")
        self.verb = verb


class ObjectTooLargeError(UncheckableObjectError):
    """A call names more, or longer, objects than are checked."""


OBJECT_CHARS: Final = 16_384
"""The longest object that is checked."""
CALL_OBJECTS: Final = 1_000
"""The most objects that one call may name."""
CALL_CHARS: Final = 262_144
"""The most characters that all objects of one call may have."""


@dataclass(slots=True, frozen=True)
class Need:
    """One canonical permission that a step needs before it may run."""

    verb: str
    object: str = ""

    def __str__(self) -> str:
        return f"{self.verb}:{self.object}" if self.object else self.verb


_FIELD = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
VERB = re.compile(r"[a-z][a-z0-9_.-]*")


def needs_of(
    permissions: Iterable[str],
    arguments: Mapping[str, Any],
    *,
    root: str,
    defaults: Mapping[str, Any] | None = None,
    verbs: Verbs = STANDARD_VERBS,
) -> tuple[Need, ...]:
    """What a call needs: each declared permission with the call's arguments put in, canonical.

    A list in braces is as many needs. `defaults` are the values of arguments that the call leaves out.

    Raises:
        PermissionSyntaxError: the verb is not a word, a brace names an argument that the call does not have or that is
            not text, or what is declared without braces names no object that can be checked.
        UncheckableObjectError: what is put in names no object that can be checked.
        ObjectTooLargeError: there are more objects than are checked, or one is too long.
    """
    values = {**(defaults or {}), **arguments}
    found: dict[Need, None] = {}
    room = _ObjectBudget()
    for declared in permissions:
        found.update(dict.fromkeys(_declared_needs(declared, values, root, verbs, room)))
    return tuple(found)


class _ObjectBudget:
    """How many objects, and characters of them, a call may still name."""

    def __init__(self) -> None:
        self._objects, self._chars = CALL_OBJECTS, CALL_CHARS

    def spend(self, verb: str, target: str, choices: Sequence[Sequence[str]]) -> None:
        """Count the objects that putting `choices` into `target` makes, before any of them is made.

        Each of `choices` has at least one text.

        Raises:
            ObjectTooLargeError: they are too many, or too long.
        """
        count = math.prod(map(len, choices))
        longest = len(target) + sum(max(map(len, each)) for each in choices)
        chars = len(target) * count + sum(sum(map(len, each)) * (count // len(each)) for each in choices)
        if longest > OBJECT_CHARS:
            raise ObjectTooLargeError(
                verb, f"an object of {longest:,} characters; at most {OBJECT_CHARS:,} are checked"
            )
        self._objects -= count
        self._chars -= chars
        if self._objects < 0:
            raise ObjectTooLargeError(
                verb, f"the call names more than {CALL_OBJECTS:,} objects: make several calls, each with a part of them"
            )
        if self._chars < 0:
            raise ObjectTooLargeError(
                verb, f"the objects of the call have more than {CALL_CHARS:,} characters: make several calls"
            )


def canonical_arguments(
    permissions: Iterable[str],
    arguments: Mapping[str, Any],
    *,
    root: str,
    defaults: Mapping[str, Any] | None = None,
    verbs: Verbs = STANDARD_VERBS,
) -> dict[str, Any]:
    """The arguments as the tool gets them: one that stands alone for a path or host (``fs.read:{path}``, ``net:{url}``)
    is the canonical one, so that what was checked is what is used. Raises as `needs_of`.
    """
    values = {**(defaults or {}), **arguments}
    changed = dict(arguments)
    for declared in permissions:
        verb, target = _split_declared(declared)
        only = _FIELD.fullmatch(target)
        kind = verbs.kind(verb)
        if only is None or only.group(1) not in values or kind not in (Kind.PATH, Kind.URL):
            continue
        value = values[only.group(1)]
        texts = [
            canonical_path(text, root) if kind is Kind.PATH else canonical_address(text)
            for text in _argument_texts(declared, only.group(1), value)
        ]
        changed[only.group(1)] = texts if isinstance(value, _COLLECTION_TYPES) else texts[0]
    return changed


_COLLECTION_TYPES = (list, tuple, set, frozenset)


def _argument_texts(declared: str, name: str, value: Any) -> list[str]:
    """The texts that an argument puts into a permission.

    Raises:
        PermissionSyntaxError: it is, or holds, what is not text: nothing, an object, a list in a list.
    """
    found = list(value) if isinstance(value, _COLLECTION_TYPES) else [value]
    for each in found:
        if each is None or isinstance(each, (Mapping, *_COLLECTION_TYPES)):
            kind = "nothing" if each is None else "an object" if isinstance(each, Mapping) else "a list in a list"
            raise PermissionSyntaxError(f"permission {declared!r}: the argument {name!r} is {kind}, not a text")
    return [str(each) for each in found]


def _split_declared(declared: str) -> tuple[str, str]:
    verb, _, target = declared.partition(":")
    if not VERB.fullmatch(verb):
        raise PermissionSyntaxError(
            f"permission {declared!r} is not 'verb' or 'verb:object' with the verb in lower case"
        )
    if set(_FIELD.sub("", target)) & set("{}"):
        # Left as it stands it would be a name of its own, the same for every call.
        raise PermissionSyntaxError(f"permission {declared!r} has a brace that names no argument: write {{name}}")
    return verb, target


def _declared_needs(
    declared: str, values: Mapping[str, Any], root: str, verbs: Verbs, room: _ObjectBudget
) -> Iterable[Need]:
    verb, target = _split_declared(declared)
    if not target:
        return (Need(verb),)
    choices: list[list[str]] = []
    for name in _FIELD.findall(target):
        if name not in values:
            raise PermissionSyntaxError(
                f"permission {declared!r} names {name!r}, an argument that the call does not have"
            )
        choices.append(_argument_texts(declared, name, values[name]))
    if not all(choices):
        # An empty list names nothing, and may mean everything to the tool: what it needs is the verb, with no object.
        return (Need(verb),)
    room.spend(verb, target, choices)
    kind = verbs.kind(verb)
    try:
        return [Need(verb, canonical_object(kind, _fill(kind, target, put), root)) for put in product(*choices)]
    except PermissionSyntaxError as exc:
        if not choices:
            raise
        raise UncheckableObjectError(verb, str(exc)) from exc


def _fill(kind: Kind, target: str, put: Iterable[str]) -> str:
    values = iter(put)
    if kind is Kind.PATH and _FIELD.fullmatch(target) is None:
        values = iter([_path_part(target, value) for value in values])
    # By a function: what is put in must not be read as a template.
    return _FIELD.sub(lambda _: next(values), target)


def _path_part(target: str, value: str) -> str:
    """A value that is one part of a path. The tool gets it as it stands, so no reader may take it for a whole path.

    Raises:
        PermissionSyntaxError: it is empty, begins with a slash, or with a tilde.
    """
    if not value or value[0] in "/~":
        what = f"begins with {value[0]!r}" if value else "is empty"
        raise PermissionSyntaxError(f"{value!r} {what}: as a part of {target!r} it could lead anywhere")
    return value


def covers(
    grant: GrantAdded,
    need: Need,
    *,
    agent: str,
    run_id: str,
    ref: str,
    verbs: Verbs = STANDARD_VERBS,
    work: MatchBudget | None = None,
) -> bool:
    """Whether `grant` lets `agent` of this run do what it needs. `work`: what the whole question may take."""
    if grant.verb != need.verb or grant.subject not in ("*", agent):
        return False
    if grant.lifetime == "run" and grant.scope != run_id:
        return False
    if grant.lifetime == "swarm" and grant.scope != ref:
        return False
    return grant_matches(grant.pattern, need.object, verbs.kind(need.verb), work)


def grant_matches(pattern: str, target: str, kind: Kind, work: MatchBudget | None = None) -> bool:
    """Whether a pattern covers a canonical object, read as a grant; the empty pattern covers only the empty object."""
    if kind in (Kind.PATH, Kind.URL):
        return grant_glob(pattern, kind).matches(target)
    if ".." in target.replace("\\", "/").split("/") and pattern not in (target, "**"):
        return False  # where it leads is not what its words begin with
    return (
        command_matching.covers_command(pattern, target, work)
        if kind is Kind.COMMAND
        else grant_glob(pattern, kind).matches(target)
    )


def denial_matches(pattern: str, target: str, kind: Kind, work: MatchBudget | None = None) -> MatchResult:
    """Whether a pattern fits a canonical object, read as a denial: ``unclear`` where only a shell could tell."""
    if kind is Kind.COMMAND:
        return command_matching.matches_denial(pattern, target, work)
    fits = grant_glob(pattern, kind).matches(target) or (kind is Kind.NAME and denial_glob(pattern).matches(target))
    return "yes" if fits else "no"
