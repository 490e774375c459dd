"""Permission errors that code raises: which permission they name, if any. Pure.

An error names one by `permission` (``verb:object``), by `verb` and `object`, or, an `AgentPermissionError`, by
`target_agent`; each as an attribute or in its `context`.
"""

from __future__ import annotations

import builtins
from collections.abc import Mapping

from orbiter.errors import causes
from runtime.judgement.permissions.canonical import PermissionSyntaxError, canonical_object
from runtime.judgement.permissions.patterns import STANDARD_VERBS, Verbs
from runtime.judgement.permissions.permission import OBJECT_CHARS, VERB, Need, ObjectTooLargeError
from runtime.judgement.permissions.policy import INVOKE_VERB


def canonical_need(permission: str, *, root: str, verbs: Verbs = STANDARD_VERBS) -> Need:
    """What ``verb:object``, or a bare verb, needs. Braces stand for themselves.

    Args:
        permission: The permission in words.
        root: What relative paths are relative to.
        verbs: The class of each verb's objects.

    Raises:
        PermissionSyntaxError: It is not of this form, or its object cannot be checked.
    """
    verb, _, target = permission.partition(":")
    if not VERB.fullmatch(verb):
        raise PermissionSyntaxError(
            f"a permission must be 'verb:object' with the verb in lower case, for example 'fs.write:/srv/a.md', "
            f"not {permission[:200]!r}"
        )
    if len(target) > OBJECT_CHARS:
        raise ObjectTooLargeError(
            verb, f"an object of {len(target):,} characters; at most {OBJECT_CHARS:,} are checked"
        )
    return Need(verb, canonical_object(verbs.kind(verb), target, root) if target else "")


def named_need(exc: BaseException, *, root: str, verbs: Verbs = STANDARD_VERBS) -> Need | None:
    """The permission that a permission error names; None for other errors, and for one that names none that could be
    checked.

    Args:
        exc: What was raised; a permission error that it came from counts as well.
        root: What relative paths are relative to.
        verbs: The class of each verb's objects.
    """
    error = next((link for link in causes(exc) if isinstance(link, builtins.PermissionError)), None)
    words = _permission_words(error) if error is not None else ""
    try:
        return canonical_need(words, root=root, verbs=verbs) if words else None
    except PermissionSyntaxError:
        return None


def _permission_words(error: BaseException) -> str:
    if text := _said(error, "permission"):
        return text
    verb, target = _said(error, "verb"), _said(error, "object")
    if verb and target:
        return f"{verb}:{target}"
    agent = _said(error, "target_agent")
    return f"{INVOKE_VERB}:{agent}" if agent else ""


def _said(error: BaseException, name: str) -> str:
    """A text that the error carries; empty where it carries none, or where reading it fails: the class may be a
    user's.
    """
    try:
        value = getattr(error, name, None)
        context = getattr(error, "context", None)
        if value is None and isinstance(context, Mapping):
            value = context.get(name)
    except Exception:
        return ""
    return value if isinstance(value, str) else ""
