"""Evidence taken from what failures come as: exceptions with their wrappers, and log lines."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from orbiter.errors import cause_of, causes, text_of
from runtime.judgement.faults.class_names import CLASS_NAME, ancestry, class_names, split_class_name, split_class_names
from runtime.judgement.faults.evidence import (
    Evidence,
    as_text,
    build_evidence,
    first_present,
    headers_of,
    plain_code,
    safe_getattr,
    status_of,
)
from runtime.record.state.fault_taxonomy import Effect, Origin

_MAX_WRAPPERS = 10
_QUEUE_ERROR = "EngineError"
"""What an engine raises that cannot give out runs."""

# Wrappers that say only that something inside failed (seed 000's texts; 003's are the same classes).
_WRAPPING_TEXT = re.compile(
    r"^(?:\[[^\]\n]{1,80}\]\s(?=Call runner|Agent ')"
    r"|Call runner failed for agent '[^'\n]{0,200}':\s"
    r"|Agent '[^'\n]{0,200}' failed(?: after (?P<n>\d{1,6}) (?:retries|attempts|tries))?:\s"
    r"|(?:Parallel|Serial)Group '[^'\n]{0,200}' failed:\s"
    r"|(?P<tool>Tool '[^'\n]{0,200}' failed:\s)"
    r"|Agent '[^'\n]{0,200}' requires a provider for (?:run|stream)\(\):\s(?=No (?:API key|base URL) for )"
    r"|(?:unhandled errors in a TaskGroup \(1 sub-exception\))\s*:?\s)"
)


# --- exceptions -------------------------------------------------------------------------------------------------


def from_exception(exc: BaseException, provider: str = "", secrets: Sequence[str] = ()) -> Evidence:
    """The evidence in an exception, unwrapped to the first that does not wrap another."""
    origin: Origin | None = None
    exhausted = False
    where = ""
    links = causes(exc)
    while next(links, None) is exc:
        inner, spent, tool = _unwrap(exc)
        exhausted = exhausted or spent
        origin = origin or (Origin.TOOL if tool else None)
        if inner is None:
            break
        provider = provider or as_text(safe_getattr(exc, "provider")) or _vendor(exc)
        where = where or as_text(safe_getattr(exc, "where"))
        if {"ModelError", "APIConnectionError"} & set(class_names(exc)):
            origin = origin or Origin.MODEL
        exc = inner
    found = _evidence_of(exc, provider, secrets)
    if found.origin is None and "ModelError" in found.names:
        origin = origin or Origin.MODEL
    if _QUEUE_ERROR in found.names:
        # Its words are its own; what failed below it says which kind of failure it is.
        below = (name for inner in causes(exc) for name in class_names(inner))
        found = replace(found, names=tuple(dict.fromkeys((*found.names, *below))))
        origin = Origin.QUEUE
    return replace(
        found, origin=found.origin or origin, exhausted=found.exhausted or exhausted, where=found.where or where
    )


def _unwrap(exc: BaseException) -> tuple[BaseException | None, bool, bool]:
    """The exception inside, whether attempts were spent on it, whether it is a tool's. None: nothing (more) inside."""
    message = text_of(exc)
    names = class_names(exc)
    wrapping = _WRAPPING_TEXT.match(message)
    spent = bool(wrapping and wrapping["n"])
    tool = "ToolError" in names or "ToolExecutionError" in names
    members = safe_getattr(exc, "exceptions")
    if "BaseExceptionGroup" in names and isinstance(members, tuple) and len({type(m) for m in members}) == 1:
        return (members[0] if isinstance(members[0], BaseException) else None), spent, False
    if type(exc).__name__ == "RetryError":  # tenacity
        spent = True
    thin = bool({"ModelError", "APIConnectionError"} & set(names)) and not _facts(exc)
    # A tool's own error that was raised while another one was handled stands for itself.
    cause = cause_of(exc) if wrapping or thin else exc.__cause__
    unwraps = bool(wrapping or tool or thin or spent)
    # A thin connection error whose cause is not an I/O error says more than its cause.
    if thin and cause is not None and not _has_own_evidence(cause):
        unwraps = False
    return (cause if unwraps else None), spent, tool


def _facts(exc: BaseException) -> bool:
    return any(safe_getattr(exc, name) for name in ("status", "status_code", "type", "code"))


def _has_own_evidence(exc: BaseException) -> bool:
    return isinstance(exc, OSError | ValueError | AssertionError) or bool(
        {"HTTPError", "TransportError", "StreamError", "APIError", "ClientError"} & set(class_names(exc))
    )


def _evidence_of(exc: BaseException, provider: str, secrets: Sequence[str]) -> Evidence:
    response = safe_getattr(exc, "response")
    context = safe_getattr(exc, "context")
    context = context if isinstance(context, Mapping) else {}
    message = text_of(exc)
    body = first_present(safe_getattr(exc, "body"), safe_getattr(exc, "details"), _body_of(response))
    headers = headers_of(
        first_present(safe_getattr(exc, "headers"), safe_getattr(response, "headers"), _botocore_body(response))
    )
    declared = [safe_getattr(exc, name) for name in ("type", "code", "error_code", "status", "classification")]
    if plain_code(declared[2]) == plain_code(type(exc).__name__):
        declared[2] = None  # orbiter's error_code defaults to the class's name
    if safe_getattr(exc, "where"):
        declared[2] = declared[4] = None  # an adapter of ours: derived from what stands in the other fields
    status = status_of(
        safe_getattr(exc, "status_code"), safe_getattr(exc, "status"), safe_getattr(exc, "http_status"),
        context.get("status_code"), safe_getattr(response, "status_code"), safe_getattr(response, "status"),
        safe_getattr(exc, "code") if safe_getattr(exc, "headers") is not None else None,
    )  # fmt: skip
    record = {
        "message": _message_of(exc, message),
        "provider": first_present(safe_getattr(exc, "provider"), context.get("provider"), provider, _vendor(exc)),
        "status": status,
        "codes": [c for c in declared if isinstance(c, str | int) and not isinstance(c, bool)],
        "names": (*class_names(exc), *_named_by_type(declared[0])),
        "where": first_present(safe_getattr(exc, "where"), context.get("where")),
        "headers": headers,
        "body": body,
    }
    hint = first_present(safe_getattr(exc, "retry_after"), context.get("retry_after"))
    found = build_evidence(record, secrets)
    path = first_present(safe_getattr(exc, "node_path"), context.get("node_path"))
    return replace(
        found,
        suggestion=as_text(first_present(safe_getattr(exc, "suggestion"), "")),
        retry_after=_seconds(hint),
        recoverable=safe_getattr(exc, "recoverable") is True,
        said_recoverable=_said_recoverable(exc),
        context=context,
        node_path=tuple(as_text(p) for p in path) if isinstance(path, list | tuple) else (),
    )


def _seconds(hint: Any) -> float | None:
    try:
        return float(hint) if isinstance(hint, int | float) and not isinstance(hint, bool) else None
    except OverflowError:
        return None


def _said_recoverable(exc: BaseException) -> bool | None:
    """Whether a repetition can succeed, as the code that raised the error says. The default of a class does not count
    for this failure, nor does what an adapter makes of a provider's status.
    """
    if "ModelError" in class_names(exc):
        return None
    said = (safe_getattr(exc, "__dict__") or {}).get("recoverable")
    return said if isinstance(said, bool) else None


def _named_by_type(kind: Any) -> tuple[str, ...]:
    """A provider's type that is the name of an exception (`orbiter.models` puts the network library's there)."""
    return ancestry(kind) if isinstance(kind, str) and CLASS_NAME.fullmatch(kind) else ()


def _message_of(exc: BaseException, message: str) -> str:
    own = safe_getattr(exc, "message")
    if isinstance(own, str) and own and own not in message:
        return f"{own}\n{message}" if message else own
    return message


_VENDORS = {"anthropic": "anthropic", "openai": "openai", "botocore": "bedrock", "google": "gemini"}


def _vendor(exc: BaseException) -> str:
    return _VENDORS.get(type(exc).__module__.split(".")[0], "")


def _body_of(response: Any) -> Any:
    if isinstance(response, Mapping):  # botocore's ClientError
        return dict(response)
    # `.text` of an unread stream raises; that is "no body".
    return first_present(safe_getattr(response, "text"), None)


def _botocore_body(response: Any) -> Any:
    meta = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    return meta.get("HTTPHeaders") if isinstance(meta, Mapping) else None


def quoted_failure(found: Evidence, secrets: Sequence[str] = ()) -> Evidence | None:
    """The failure that another one tells of as ``Class: text``; None: it tells of none.

    Frameworks pass failures on as such words, in exceptions of their own. Anything can say such words, so they are
    asked only where all else says nothing.
    """
    names, said = split_class_names(found.message)
    if not names:
        return None
    record = {
        "message": said,
        "provider": found.provider or _vendor_of(names[0]),
        "status": found.status,
        "codes": [found.code, *(name for name in names if name.endswith("Exception"))],
        "names": [above for name in names for above in ancestry(name)],
        "where": found.where,
        "headers": found.headers,
        "body": found.body,
    }
    return build_evidence(record, secrets)


# --- records ----------------------------------------------------------------------------------------------------


def from_record(record: Mapping[str, Any]) -> Evidence:
    """The evidence in a log line: `provider, status, type, code, message, where, headers, body`, or `exception`."""
    spoken = record.get("exception")
    names: list[str] = []
    message = as_text(record.get("message"))
    if isinstance(spoken, str) and spoken:
        name, said = split_class_name(spoken)
        names += [name] if name else []
        message = f"{message}\n{said}" if message and said else message or said
    wrapped, exhausted, origin = _unwrapped_text(message)
    kind = record.get("type")
    if isinstance(kind, str) and CLASS_NAME.fullmatch(kind):
        names.append(kind)
    where = as_text(record.get("where")).strip().lower()
    found = build_evidence(
        {
            "message": wrapped,
            "provider": as_text(record.get("provider")) or next((_vendor_of(n) for n in names if "." in n), ""),
            "status": status_of(record.get("status"), record.get("status_code"), record.get("http_status")),
            "codes": [kind, record.get("code"), record.get("error_type"), record.get("error_code")],
            "names": [n for name in names for n in ancestry(name)],
            "where": where,
            "headers": headers_of(record.get("headers")),
            "body": first_present(record.get("body"), record.get("body_text"), record.get("response")),
        }
    )
    stated = as_text(record.get("origin")).lower() or where
    if stated in set(Origin):
        origin = Origin(stated)
    elif names and not origin:
        origin = _ORIGIN_OF_CLASS.get(names[0].rsplit(".", 1)[-1])
    effect = as_text(record.get("effect")).lower()
    return replace(
        found,
        origin=origin,
        effect=Effect(effect) if effect in set(Effect) else None,
        exhausted=exhausted,
        logged=True,
    )


def _vendor_of(name: str) -> str:
    return _VENDORS.get(name.split(".", maxsplit=1)[0], "")


_ORIGIN_OF_CLASS = {"ToolError": Origin.TOOL, "ToolExecutionError": Origin.TOOL, _QUEUE_ERROR: Origin.QUEUE}


def _unwrapped_text(message: str) -> tuple[str, bool, Origin | None]:
    exhausted = False
    origin = None
    for _ in range(_MAX_WRAPPERS):
        found = _WRAPPING_TEXT.match(message)
        if not found:
            break
        exhausted = exhausted or bool(found["n"])
        origin = origin or (Origin.TOOL if found["tool"] else None)
        message = message[found.end() :]
    return message, exhausted, origin
