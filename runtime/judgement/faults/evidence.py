"""Evidence: what a failure says of itself, without judging it.

Everything here takes foreign objects as they are: attributes that raise, exceptions whose ``__str__`` raises, bodies
that are HTML, headers with nonsense values, causes that go round in a circle. Nothing of that may stop it.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from orbiter.redaction import mask_secrets
from runtime.judgement.faults.codes_in_text import code_parts, codes_in_text, status_in_text
from runtime.judgement.faults.kinds import kinds_named
from runtime.record.state.fault_taxonomy import Effect, Origin

MAX_TEXT = 4000
"""Characters of an error's words that rules look at, and that are kept. More is a web page, not a message."""
_MAX_BODY = 64 * 1024
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

_MODEL_PREFIX = re.compile(r"^\[(?!Errno\b|WinError\b|SSL\b|X509\b)[^\]\n]{1,80}\]\s+")
# "[gpt-5] Rate limit reached": not what Python itself puts in brackets, which is the failure's number.
_CODE = re.compile(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
# {"error": "invalid_auth"}: Slack, OAuth.
_QUOTED_KEY = re.compile(r"""['"](?:message|content|input|output|request|response|error|type|param)['"]\s?:""")
# Keys of JSON do not count as words of the error: "'message': 'The model is blocked'" blocks no message.


class Evidence(Struct, frozen=True):
    """What rules look at.

    `names` are exception class names, own class first, each also with its module; `codes` the provider's types,
    codes and reasons, outermost first, lower case without separators; both also have what they say of themselves
    (``*notfound*``); `text` all words, spaces and quotes made plain; `headers` have lower-case names; `body` is
    parsed JSON or None. `message` is the original wording.
    `own_status` and `own_codes` are those of the error object and of the answer that it holds, not of its words;
    `said_codes` are read in the words, and may be no codes.
    `context` is what the error carries besides, as it is. `recoverable` is also what its class says,
    `said_recoverable` only what was said where it was raised; None: nothing.
    """

    message: str = ""
    provider: str = ""
    status: int | None = None
    codes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    text: str = ""
    where: str = ""
    headers: Mapping[str, str] = {}
    body: Any = None
    code: str = ""
    origin: Origin | None = None
    effect: Effect | None = None
    exhausted: bool = False
    suggestion: str = ""
    node_path: tuple[str, ...] = ()
    retry_after: float | None = None
    recoverable: bool = False
    said_recoverable: bool | None = None
    context: Mapping[str, Any] = {}
    from_api: bool = False
    logged: bool = False
    own_status: int | None = None
    own_codes: tuple[str, ...] = ()
    said_codes: tuple[str, ...] = ()

    def without_words(self) -> Evidence:
        """What is left where words and parts of names prove nothing: only what the answer itself says."""
        names = tuple(name for name in self.names if not name.startswith("*"))
        return replace(self, status=self.own_status, codes=self.own_codes, names=names, text="")


def plain_code(code: object) -> str:
    """A provider's code without spelling: ``ThrottlingException`` and ``throttling_exception`` are the same word."""
    return re.sub(r"[\W_]+", "", as_text(code)[:200]).casefold()


def build_evidence(record: Mapping[str, Any], secrets: Sequence[str] = ()) -> Evidence:
    """The evidence in a record. `secrets` are masked in all words of it, before any is cut: of half a secret nothing
    would be found later.
    """
    message = mask_secrets(as_text(record["message"]), secrets)[: 4 * MAX_TEXT]
    bare = _MODEL_PREFIX.sub("", message)
    spelled = _json_in_text(bare)
    body = _parse_body(record["body"])
    body = spelled if body is None else body
    words = [bare if spelled is None else _QUOTED_KEY.sub(" ", bare)]
    codes: list[str] = [as_text(c) for c in record["codes"] if c is not None]
    status: int | None = record["status"]
    for key, value in _walk(body):
        name = re.sub(r"[^a-z]", "", key.lower())
        if isinstance(value, str):
            if name in _WORD_KEYS and value not in words:
                words.append(value)
            if len(value) <= 120 and (name in _CODE_KEYS or (name == "error" and _CODE.fullmatch(value))):
                codes.append(value)
        elif isinstance(value, int) and not isinstance(value, bool):
            if name in _CODE_KEYS:
                codes.append(str(value))
            if name in _STATUS_KEYS:
                status = _reported_status(status, value)
        elif name == "detail" and isinstance(value, list):
            words += [as_text(item) for item in value if isinstance(item, str)]
    if isinstance(record["body"], str) and body is None:
        words.append(mask_secrets(record["body"], secrets)[:MAX_TEXT])
    text = _plain_text(mask_secrets(" \n".join(words), secrets))
    for code in codes[:2]:
        status = _reported_status(status, code)
    answered = spelled is None or body is not spelled  # else the body is of the words, too
    own = (status, codes) if answered else (record["status"], [as_text(c) for c in record["codes"] if c is not None])
    if status is None:
        status = status_in_text(text)
    said = codes_in_text(message[:MAX_TEXT])
    known = _plain_codes([*codes, *said]) + [kind for code in codes for kind in kinds_named(code)]
    return Evidence(
        message=message[:MAX_TEXT],
        provider=as_text(record["provider"])[:100],
        status=status,
        codes=tuple(dict.fromkeys(filter(None, known))),
        names=tuple(record["names"]),
        text=text,
        where=as_text(record["where"])[:100],
        headers=record["headers"],
        body=body,
        code=mask_secrets(next((c for c in reversed(codes[:2]) if c and not c.isdigit()), ""), secrets)[:200],
        from_api=bool(status or any(codes) or record["provider"]),
        own_status=own[0],
        own_codes=tuple(_plain_codes(own[1])),
        said_codes=tuple(said),
    )


def _plain_codes(codes: list[str]) -> list[str]:
    """Codes and parts of codes with dots, without spelling."""
    return [plain_code(part) for code in codes for part in (code, *code_parts(code))]


def _reported_status(status: int | None, said: Any) -> int | None:
    """The status with what a body says of it: a stream that began well (2xx) tells of its failure by number inside."""
    inner = status_of(said)
    if status is None:
        return inner
    return inner if inner is not None and inner >= 400 and 200 <= status < 300 else status


def _json_in_text(message: str) -> Any:
    """A JSON body, or a Python literal of one (as the OpenAI SDK prints it), inside a message."""
    start = message.find("{")
    if start < 0 or len(message) > _MAX_BODY:
        return None
    part = message[start:].strip()
    try:
        return json.JSONDecoder().raw_decode(part)[0]
    except (ValueError, RecursionError):
        pass
    if start > 0 and not re.search(r"(?:^|: )\d{3}\b[^{}\n]{0,60}$", message[:start]):
        return None
    try:
        return ast.literal_eval(part)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _parse_body(body: Any) -> Any:
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
        pairs = [(as_text(k), v) for k, v in value.items()]
        yield from pairs
        for key, item in pairs:
            if isinstance(item, str) and key.lower() in ("raw", "message", "error", "body") and "{" in item:
                yield from _walk(_parse_body(item[item.find("{") :]), depth + 1, left)
            elif key.lower() not in ("input", "ctx", "headers", "request", "messages"):
                yield from _walk(item, depth + 1, left)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _walk(item, depth + 1, left)


def _plain_text(text: str) -> str:
    text = text.replace("’", "'").replace("‘", "'").replace("“", '"').replace("”", '"').replace("\u00a0", " ")
    return re.sub(r"[ \t\r\f\v]+", " ", text)[:MAX_TEXT]


def headers_of(raw: Any) -> dict[str, str]:
    pairs: Iterable[Any]
    try:
        pairs = list(raw.items()) if hasattr(raw, "items") else list(raw or ())
    except Exception:
        return {}
    found: dict[str, str] = {}
    for pair in pairs[:200]:
        if isinstance(pair, list | tuple) and len(pair) == 2:
            found[as_text(pair[0]).strip().lower()[:200]] = as_text(pair[1]).strip()[:1000]
    return found


def status_of(*candidates: Any) -> int | None:
    for value in candidates:
        number = value if isinstance(value, int) and not isinstance(value, bool) else None
        if isinstance(value, str) and re.fullmatch(r"[1-5]\d\d", value.strip(), re.ASCII):
            number = int(value)
        if number is not None and 100 <= number <= 599:
            return int(number)
    return None


def safe_getattr(thing: Any, name: str) -> Any:
    """`thing.name`, or None: a property that raises gives no evidence."""
    if thing is None:
        return None
    try:
        value = getattr(thing, name, None)
    except BaseException:
        return None
    return None if callable(value) else value


def first_present(*values: Any) -> Any:
    return next((v for v in values if v is not None and not (isinstance(v, str | bytes) and not v)), None)


def as_text(value: Any) -> str:
    if value is None:
        return ""
    try:
        return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    except BaseException:
        return ""
