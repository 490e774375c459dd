"""What a failure says of itself, gathered from an exception or from a log line without judging it.

Everything here takes foreign objects as they are: attributes that raise, exceptions whose ``__str__`` raises, bodies
that are HTML, headers with nonsense values, causes that go round in a circle. Nothing of that may stop it.
"""

from __future__ import annotations

import ast
import builtins
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Any

from runtime.record.taxonomy import Effect, Origin

MAX_TEXT = 4000
"""Characters of an error's words that rules look at, and that are kept. More is a web page, not a message."""
_MAX_BODY = 64 * 1024
_MAX_CHAIN = 10

_CODE_KEYS = frozenset(
    {
        "type", "code", "status", "reason", "errortype", "errorcode", "errcode", "quotaid", "statuscode", "subtype",
        "finishreason", "blockreason", "stopreason", "innererror", "exception", "name",
    }
)  # fmt: skip
_WORD_KEYS = frozenset(
    {
        "message", "msg", "detail", "details", "error", "errordescription", "errormessage", "errormsg", "errmsg",
        "statusmsg", "raw", "reason", "title", "quotametric", "quotaid", "description", "errors",
    }
)  # fmt: skip
_STATUS_KEYS = frozenset({"status", "statuscode", "code", "httpstatus", "httpcode", "httpstatuscode"})

# Wrappers that say only that something inside failed (seed 000's texts; 003's are the same classes).
_WRAPPING_TEXT = re.compile(
    r"^(?:\[[^\]\n]{1,80}\]\s(?=Call runner|Agent ')"
    r"|Call runner failed for agent '[^'\n]{0,200}':\s"
    r"|Agent '[^'\n]{0,200}' failed(?: after (?P<n>\d{1,6}) (?:retries|attempts|tries))?:\s"
    r"|(?:Parallel|Serial)Group '[^'\n]{0,200}' failed:\s"
    r"|(?P<tool>Tool '[^'\n]{0,200}' failed:\s)"
    r"|(?:unhandled errors in a TaskGroup \(1 sub-exception\))\s*:?\s)"
)
_EXCEPTION_TEXT = re.compile(r"^\s*([A-Za-z_][\w.]{1,120})(?:\((?:['\"])?(.*?)(?:['\"],?)?\)|:\s*(.*)|)\s*$", re.DOTALL)
_CLASS_NAME = re.compile(r"(?:[A-Za-z_]\w*\.)*_*[A-Z]\w*(?:Error|Exception|Warning|Timeout|Exit|Interrupt|Group)?$")
_MODEL_PREFIX = re.compile(r"^\[[^\]\n]{1,80}\]\s+")
_PHRASES = "|".join(re.escape(s.phrase) for s in HTTPStatus if s.value >= 400)
_STATUS_IN_TEXT = re.compile(
    r"(?:^Error code:\s|\bHTTP(?:/\d(?:\.\d)?)?(?:\sstatus|\serror)?(?:\scode)?[\s:]\s?"
    r"|\bstatus(?:[\s_]?code)?(?:\s(?:of|was|is))?[\s:=]\s?"
    r"|\b(?:server|client)\serror\s'?|\bAPI\serror[\s:(]\s?)(?P<a>[45]\d\d)(?![\d.,]*\d|\s?(?:ms|s|%|tokens?)\b)"
    rf"|^(?P<b>[45]\d\d)(?=:?\s(?:{_PHRASES})\b|:\s|\s-\s|\s\{{|$|\sstatus\scode)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What rules look at.

    `names` are exception class names, own class first, each also with its module; `codes` the provider's types,
    codes and reasons, outermost first, lower case without separators; `text` all words, spaces and quotes made
    plain; `headers` have lower-case names; `body` is parsed JSON or None. `message` is the original wording.
    """

    message: str = ""
    provider: str = ""
    status: int | None = None
    codes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    text: str = ""
    where: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None
    code: str = ""
    origin: Origin | None = None
    effect: Effect | None = None
    exhausted: bool = False
    suggestion: str = ""
    node_path: tuple[str, ...] = ()
    retry_after: float | None = None
    recoverable: bool = False
    from_api: bool = False
    logged: bool = False


def plain(code: object) -> str:
    """A provider's code without spelling: ``ThrottlingException`` and ``throttling_exception`` are the same word."""
    return re.sub(r"[\W_]+", "", _text(code)[:200]).casefold()


# --- exceptions -------------------------------------------------------------------------------------------------


def from_exception(exc: BaseException, provider: str = "") -> Evidence:
    """The evidence in an exception, unwrapped to the first that is no wrapper."""
    origin: Origin | None = None
    exhausted = False
    where = ""
    seen: set[int] = set()
    while id(exc) not in seen and len(seen) < _MAX_CHAIN:
        seen.add(id(exc))
        inner, spent, tool = _unwrapped(exc)
        exhausted = exhausted or spent
        origin = origin or (Origin.TOOL if tool else None)
        if inner is None:
            break
        provider = provider or _text(_attribute(exc, "provider")) or _vendor(exc)
        where = where or _text(_attribute(exc, "where"))
        if {"ModelError", "APIConnectionError"} & set(_class_names(exc)):
            origin = origin or Origin.MODEL
        exc = inner
    found = _of_one(exc, provider)
    if found.origin is None and "ModelError" in found.names:
        origin = origin or Origin.MODEL
    return replace(
        found, origin=found.origin or origin, exhausted=found.exhausted or exhausted, where=found.where or where
    )


def _unwrapped(exc: BaseException) -> tuple[BaseException | None, bool, bool]:
    """The exception inside, whether attempts were spent on it, whether it is a tool's. None: nothing (more) inside."""
    message = text_of(exc)
    names = _class_names(exc)
    wrapping = _WRAPPING_TEXT.match(message)
    spent = bool(wrapping and wrapping["n"])
    tool = "ToolError" in names or "ToolExecutionError" in names
    members = _attribute(exc, "exceptions")
    if "BaseExceptionGroup" in names and isinstance(members, tuple) and len(members) == 1:
        return (members[0] if isinstance(members[0], BaseException) else None), spent, False
    if type(exc).__name__ == "RetryError":  # tenacity
        spent = True
    thin = bool({"ModelError", "APIConnectionError"} & set(names)) and not _facts(exc)
    cause = exc.__cause__
    if cause is None and (wrapping or thin) and not exc.__suppress_context__:
        cause = exc.__context__
    unwraps = bool(wrapping or tool or thin or spent)
    # A thin connection error whose cause is no I/O error at all says more than its cause.
    if thin and cause is not None and not _speaks(cause):
        unwraps = False
    return (cause if unwraps else None), spent, tool


def _facts(exc: BaseException) -> bool:
    return any(_attribute(exc, name) for name in ("status", "status_code", "type", "code"))


def _speaks(exc: BaseException) -> bool:
    return isinstance(exc, OSError | ValueError | AssertionError) or bool(
        {"HTTPError", "TransportError", "StreamError", "APIError", "ClientError"} & set(_class_names(exc))
    )


def _of_one(exc: BaseException, provider: str) -> Evidence:
    response = _attribute(exc, "response")
    context = _attribute(exc, "context")
    context = context if isinstance(context, Mapping) else {}
    message = text_of(exc)
    body = _first(_attribute(exc, "body"), _attribute(exc, "details"), _body_of(response))
    headers = _headers(_first(_attribute(exc, "headers"), _attribute(response, "headers"), _botocore(response)))
    declared = [_attribute(exc, name) for name in ("type", "code", "error_code", "status", "classification")]
    if plain(declared[2]) == plain(type(exc).__name__):
        declared[2] = None  # orbiter's error_code defaults to the class's name
    status = _status(
        _attribute(exc, "status_code"), _attribute(exc, "status"), _attribute(exc, "http_status"),
        context.get("status_code"), _attribute(response, "status_code"), _attribute(response, "status"),
        _attribute(exc, "code") if _attribute(exc, "headers") is not None else None,
    )  # fmt: skip
    record = {
        "message": _spoken(exc, message),
        "provider": _first(_attribute(exc, "provider"), context.get("provider"), provider, _vendor(exc)),
        "status": status,
        "codes": [c for c in declared if isinstance(c, str | int) and not isinstance(c, bool)],
        "names": _class_names(exc),
        "where": _first(_attribute(exc, "where"), context.get("where")),
        "headers": headers,
        "body": body,
    }
    hint = _first(_attribute(exc, "retry_after"), context.get("retry_after"))
    found = _assembled(record)
    path = _first(_attribute(exc, "node_path"), context.get("node_path"))
    return replace(
        found,
        suggestion=_text(_first(_attribute(exc, "suggestion"), "")),
        retry_after=float(hint) if isinstance(hint, int | float) and not isinstance(hint, bool) else None,
        recoverable=_attribute(exc, "recoverable") is True,
        node_path=tuple(_text(p) for p in path) if isinstance(path, list | tuple) else (),
    )


def text_of(exc: BaseException) -> str:
    """`str(exc)`, whatever it takes: some exceptions raise from ``__str__``."""
    try:
        return str(exc)
    except Exception:
        try:
            return " ".join(str(a) for a in exc.args)
        except Exception:
            return ""


def _spoken(exc: BaseException, message: str) -> str:
    own = _attribute(exc, "message")
    if isinstance(own, str) and own and own not in message:
        return f"{own}\n{message}" if message else own
    return message


def _class_names(exc: BaseException) -> tuple[str, ...]:
    names: list[str] = []
    for cls in type(exc).__mro__[:-1]:
        names += [cls.__name__, f"{cls.__module__}.{cls.__name__}", f"{cls.__module__.split('.')[0]}.{cls.__name__}"]
    return _with_families(type(exc).__name__, names)


def _with_families(own: str, names: list[str]) -> tuple[str, ...]:
    """`names`, and ``*timeout*`` or ``*ratelimit*`` where the class's own name says so (Osprey's convention)."""
    said = own.rsplit(".", 1)[-1].replace("_", "").lower()
    families = [f"*{word}*" for word in ("timeout", "ratelimit") if word in said]
    return tuple(dict.fromkeys([*names, *families]))


def _ancestry(name: str) -> tuple[str, ...]:
    """A class known by name only: with its ancestors where it is a builtin of Python."""
    bare = name.rsplit(".", 1)[-1]
    known = getattr(builtins, bare, None)
    if isinstance(known, type) and issubclass(known, BaseException) and name in (bare, f"builtins.{bare}"):
        return _with_families(bare, [cls.__name__ for cls in known.__mro__[:-1]])
    top = f"{name.split('.', maxsplit=1)[0]}.{bare}" if "." in name else bare
    return _with_families(bare, [bare, name, top])


def _vendor(exc: BaseException) -> str:
    package = type(exc).__module__.split(".")[0]
    return {"anthropic": "anthropic", "openai": "openai", "botocore": "bedrock", "google": "gemini"}.get(package, "")


def _body_of(response: Any) -> Any:
    if isinstance(response, Mapping):  # botocore's ClientError
        return dict(response)
    # `.text` of an unread stream raises; that is "no body".
    return _first(_attribute(response, "text"), None)


def _botocore(response: Any) -> Any:
    meta = response.get("ResponseMetadata") if isinstance(response, Mapping) else None
    return meta.get("HTTPHeaders") if isinstance(meta, Mapping) else None


# --- records ----------------------------------------------------------------------------------------------------


def from_record(record: Mapping[str, Any]) -> Evidence:
    """The evidence in a log line: `provider, status, type, code, message, where, headers, body`, or `exception`."""
    spoken = record.get("exception")
    names: list[str] = []
    message = _text(record.get("message"))
    if isinstance(spoken, str) and spoken:
        name, said = _named(spoken)
        names += [name] if name else []
        message = f"{message}\n{said}" if message and said else message or said
    wrapped, exhausted, origin = _unwrapped_text(message)
    kind = record.get("type")
    if isinstance(kind, str) and _CLASS_NAME.fullmatch(kind):
        names.append(kind)
    where = _text(record.get("where")).strip().lower()
    found = _assembled(
        {
            "message": wrapped,
            "provider": _text(record.get("provider")),
            "status": _status(record.get("status"), record.get("status_code"), record.get("http_status")),
            "codes": [kind, record.get("code"), record.get("error_type"), record.get("error_code")],
            "names": [n for name in names for n in _ancestry(name)],
            "where": where,
            "headers": _headers(record.get("headers")),
            "body": _first(record.get("body"), record.get("body_text"), record.get("response")),
        }
    )
    stated = _text(record.get("origin")).lower() or where
    if stated in set(Origin):
        origin = Origin(stated)
    elif names and not origin:
        origin = _ORIGIN_OF_CLASS.get(names[0].rsplit(".", 1)[-1])
    effect = _text(record.get("effect")).lower()
    return replace(
        found,
        origin=origin,
        effect=Effect(effect) if effect in set(Effect) else None,
        exhausted=exhausted,
        logged=True,
    )


_ORIGIN_OF_CLASS = {"ToolError": Origin.TOOL, "ToolExecutionError": Origin.TOOL}


def _named(spoken: str) -> tuple[str, str]:
    """``ClassName: text`` (also ``ClassName('text')`` and a bare ``ClassName``) taken apart."""
    found = _EXCEPTION_TEXT.match(spoken[: 2 * MAX_TEXT])
    if found and _CLASS_NAME.fullmatch(found[1]):
        return found[1], found[2] or found[3] or ""
    return "", spoken


def _unwrapped_text(message: str) -> tuple[str, bool, Origin | None]:
    exhausted = False
    origin = None
    for _ in range(_MAX_CHAIN):
        found = _WRAPPING_TEXT.match(message)
        if not found:
            break
        exhausted = exhausted or bool(found["n"])
        origin = origin or (Origin.TOOL if found["tool"] else None)
        message = message[found.end() :]
    return message, exhausted, origin


# --- both -------------------------------------------------------------------------------------------------------


def _assembled(record: Mapping[str, Any]) -> Evidence:
    message = _text(record["message"])[: 4 * MAX_TEXT]
    bare = _MODEL_PREFIX.sub("", message)
    spelled = _document(bare)
    body = _parsed(record["body"])
    body = spelled if body is None else body
    words = [bare]
    codes: list[str] = [_text(c) for c in record["codes"] if c is not None]
    status: int | None = record["status"]
    for key, value in _walk(body):
        name = re.sub(r"[^a-z]", "", key.lower())
        if isinstance(value, str):
            if name in _WORD_KEYS and value not in words:
                words.append(value)
            if name in _CODE_KEYS and len(value) <= 120:
                codes.append(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            if name in _CODE_KEYS:
                codes.append(str(value))
            if status is None and name in _STATUS_KEYS:
                status = _status(value)
        elif name == "detail" and isinstance(value, list):
            words += [_text(item) for item in value if isinstance(item, str)]
    if isinstance(record["body"], str) and body is None:
        words.append(record["body"][:MAX_TEXT])
    text = _plain_text(" \n".join(words))
    for code in codes[:2]:
        status = _status(code) if status is None else status
    if status is None:
        said = _STATUS_IN_TEXT.search(text)
        status = int(said["a"] or said["b"]) if said else None
    known = tuple(dict.fromkeys(filter(None, (plain(c) for c in codes))))
    return Evidence(
        message=message[:MAX_TEXT],
        provider=_text(record["provider"])[:100],
        status=status,
        codes=known,
        names=tuple(record["names"]),
        text=text,
        where=_text(record["where"])[:100],
        headers=record["headers"],
        body=body,
        code=next((c for c in reversed(codes[:2]) if c and not c.isdigit()), "")[:200],
        from_api=bool(status or known or record["provider"]),
    )


def _document(message: str) -> Any:
    """A JSON body, or a Python literal of one (as the OpenAI SDK prints it), inside a message."""
    start = message.find("{")
    if start < 0 or len(message) > _MAX_BODY:
        return None
    part = message[start:].strip()
    try:
        return json.loads(part)
    except (ValueError, RecursionError):
        pass
    if not re.match(r"^(?:Error code: \d{3} - )\{", message):
        return None
    try:
        return ast.literal_eval(part)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _parsed(body: Any) -> Any:
    for _ in range(3):
        if isinstance(body, bytes | bytearray):
            body = bytes(body[:_MAX_BODY]).decode("utf-8", "replace")
        if not isinstance(body, str):
            break
        try:
            body = json.loads(body[:_MAX_BODY])
        except (ValueError, RecursionError):
            return None
    if isinstance(body, str):
        return {"message": body}
    return body if isinstance(body, dict | list) else None


def _walk(value: Any, depth: int = 0, budget: list[int] | None = None) -> Iterator[tuple[str, Any]]:
    """Keys and values of a document, outer before inner; JSON in strings under ``raw`` and ``message`` is opened."""
    left = [500] if budget is None else budget
    left[0] -= 1
    if depth > 8 or left[0] <= 0:
        return
    if isinstance(value, Mapping):
        pairs = [(_text(k), v) for k, v in value.items()]
        yield from pairs
        for key, item in pairs:
            if isinstance(item, str) and key.lower() in ("raw", "message", "error", "body") and "{" in item:
                yield from _walk(_parsed(item[item.find("{") :]), depth + 1, left)
            elif key.lower() not in ("input", "ctx", "headers", "request", "messages"):
                yield from _walk(item, depth + 1, left)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item, depth + 1, left)


def _plain_text(text: str) -> str:
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"').replace("\u00a0", " ")
    return re.sub(r"[ \t\r\f\v]+", " ", text)[:MAX_TEXT]


def _headers(raw: Any) -> dict[str, str]:
    pairs: Iterable[Any]
    try:
        pairs = list(raw.items()) if hasattr(raw, "items") else list(raw or ())
    except Exception:
        return {}
    found: dict[str, str] = {}
    for pair in pairs[:200]:
        if isinstance(pair, list | tuple) and len(pair) == 2:
            found[_text(pair[0]).strip().lower()[:200]] = _text(pair[1]).strip()[:1000]
    return found


def _status(*candidates: Any) -> int | None:
    for value in candidates:
        number = value if isinstance(value, int) and not isinstance(value, bool) else None
        if isinstance(value, str) and re.fullmatch(r"[1-5]\d\d", value.strip(), re.ASCII):
            number = int(value)
        if number is not None and 100 <= number <= 599:
            return int(number)
    return None


def _attribute(thing: Any, name: str) -> Any:
    """`thing.name`, or None: a property that raises is no evidence."""
    if thing is None:
        return None
    try:
        value = getattr(thing, name, None)
    except Exception:
        return None
    return None if callable(value) else value


def _first(*values: Any) -> Any:
    return next((v for v in values if v is not None and not (isinstance(v, str | bytes) and not v)), None)


def _text(value: Any) -> str:
    if value is None:
        return ""
    try:
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    except Exception:
        return ""
