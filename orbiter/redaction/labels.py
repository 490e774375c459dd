"""Secrets found by their label: labelled values, cookies, headers, addresses with passwords."""

from __future__ import annotations

import re
from collections.abc import Iterator

from orbiter.redaction.names import NameRating, is_ordinary, rate_name
from orbiter.redaction.shapes import is_mixed
from orbiter.redaction.spans import Span

_LABEL = re.compile(
    r"""(?x)
    (?<![\w.-]) -{0,2} (?P<name>[A-Za-z][\w.-]{0,99}) (?P<quote>["'`]?) \s{0,8} (?P<sign>:=|=>|[:=])
    (?: (?<=["'`][:=]) \s{0,8}
    |   [\ \t]{0,8} (?: \r?\n[\ \t]{1,8} (?=[^\s:="'\\]{6,99} (?:["'\\] | [\ \t]{0,8}(?:[\r\n]|\Z))) )? )
    """
)
_PAIR = re.compile(
    r"""(?x)
    ["'](?:name|key|header|field|variable)["'] \s{0,8}:\s{0,8} (["'])(?P<name>[\w.-]{1,99})\1 \s{0,8},\s{0,8}
    ["']value["'] (?P<quote>)\s{0,8} (?P<sign>:) \s{0,8}
    """
)
_ATTRIBUTE = re.compile(
    r"""(?x)\b(?:name|key)\s?=\s?(["'])(?P<name>[\w.-]{1,99})\1 \s{1,8}value\s?(?P<quote>)(?P<sign>=)\s?(?=["'])"""
)
_HEADER = re.compile(
    r"""(?xi)["'](?P<name>(?:proxy-)?authorization|x-[\w-]{0,40}(?:key|token))["'](?P<quote>)
    \s{0,8}(?P<sign>,)\s{0,8}(?=b?["'])"""
)
_FLAG = re.compile(r"(?<![\w-])--?(?P<name>[A-Za-z][\w-]{1,60})\s{1,8}(?=[^\s-])")
_ELEMENT = re.compile(r"<(?P<name>[A-Za-z][\w.:-]{0,60})(?:\s[^<>]{0,200})?>(?P<value>[^<>]{1,4096})</")
_PREFIX = re.compile(r"[brfuBRFU]{0,2}(?=[\"'`])")
_BARE = re.compile(r"""[^\s"'`&,;<>\\|(){}\[\]]+""")
_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|apikey|api-key|negotiate|bot)\s{1,8}")
_PARAMETERS = re.compile(
    r"""(?xi)(?:digest|hawk|oauth|aws4-hmac-sha256|signature|sharedkey|escher)\s{1,8}
    (?:[\w-]{1,40}=(?:"[^"\r\n]{0,2048}"|[^\s,"]{0,2048}),?\s{0,8}){1,30}"""
)
_EXPRESSION = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MEMBER = re.compile(r"""[\s,]{0,40}(?:["'][^"'\\]{1,100}["']\s{0,8}:\s{0,8})?(?=["'])""")
_MEMBERS = 50
_LONGEST = 16 * 1024
_LONGEST_BARE = 2 * 1024
_TRIPLE = ('"""', "'''")
_HEAD = 200
_QUOTES = frozenset("\"'`")

_COOKIE = re.compile(r"(?i)(?<![A-Za-z0-9])(?:set-)?cookies?2?[\"']?\s{0,8}[:=,]\s{0,8}b?(?P<quote>[\"']?)")
_CRUMB = re.compile(r"""\s{0,8}(?P<name>[^\s=;,"'<>{}\[\]]{1,128}+)[ ]?=(?P<value>"[^"\r\n;]{0,4096}"|[^\s;"'<>\\]*)""")
_LONE = re.compile(r"[^;=\r\n\"']{0,64}(?=;)")
_DATE = re.compile(r"[^;,\r\n\"']{0,16},?[^;,\r\n\"']{0,48}")
_ATTRIBUTES = frozenset({"path", "domain", "expires", "max-age", "samesite", "priority", "version", "comment"})

_BEARER = re.compile(r"(?i)\bbearer\s{1,8}(?P<value>[\w.~+/=:-]{6,})")
_BASIC = re.compile(r"(?i)\bbasic\s{1,8}(?P<value>[A-Za-z0-9+/]{8,}={0,2})(?![\w+/-])")
_ADDRESS = re.compile(
    r"""(?x)(?<![A-Za-z0-9+.-])[A-Za-z][A-Za-z0-9+.-]{1,30}://
    (?: [^\s/:@"'<>?\#]{0,200}:(?P<password>[^\s/"'<>]{1,200})@ | (?P<user>[A-Za-z0-9_-]{16,200})@ )"""
)
_LOGIN = re.compile(
    r"(?<![\w-])(?:-u|--user|--proxy-user|-U)[ =]{1,4}[\"']?[^\s:\"']{1,200}:(?P<value>[^\s\"']{1,200})"
)
_SPOKEN = re.compile(
    r"(?i)\b(?:pass(?:word|phrase|code)|secret|api[ -]key|access[ -]token|auth[ -]token|credential)s?\s{1,4}"
    r"(?:is|was|are)\s{1,4}[\"'`]?(?P<value>[^\s\"'`,;<>]{4,200})"
)


def find_labelled(text: str) -> Iterator[Span]:
    """Values that stand behind a telling name, in whatever notation."""
    for pattern in (_LABEL, _PAIR, _ATTRIBUTE, _HEADER):
        for found in pattern.finditer(text):
            strength = rate_name(found["name"])
            if strength is not NameRating.NO:
                yield from _value(text, found, strength)
    for found in _FLAG.finditer(text):
        if rate_name(found["name"]) is not NameRating.NO:
            value = _BARE.match(text, found.end())
            if value is not None and not is_ordinary(value[0]) and len(value[0]) >= 4:
                yield Span(*value.span())
    for found in _ELEMENT.finditer(text):
        if rate_name(found["name"]) is NameRating.STRONG and not is_ordinary(found["value"]):
            yield Span(*found.span("value"))
    yield from _cookies(text)
    yield from _spoken(text)


def _value(text: str, found: re.Match[str], strength: NameRating) -> Iterator[Span]:
    prefix = _PREFIX.match(text, found.end())
    at = prefix.end() if prefix is not None else found.end()
    first = text[at : at + 1]
    if first in {"[", "{"}:
        if first == "[" or found["name"].lower().endswith("s"):
            yield from _members(text, at + 1, strength)
        return
    if (mark := text[at : at + 3]) in _TRIPLE and (end := text.find(mark, at + 3, at + _LONGEST)) >= 0:
        yield from _quoted(text, at + 3, end, strength)
        return
    if first in _QUOTES:
        if text[at - 1] in "fF" and text[at + 1 : at + 2] == "{":
            return  # a place for a value
        if (end := _closing(text, at, lines=bool(found["quote"]) or text.startswith("-----", at + 1))) >= 0:
            yield from _quoted(text, at + 1, end, strength)
            return
        at += 1
    if found["name"].lower().endswith("authorization") and (parameters := _PARAMETERS.match(text, at)) is not None:
        yield Span(*parameters.span())
        return
    if (scheme := _SCHEME.match(text, at)) is not None:
        at = scheme.end()
    if (bare := _BARE.match(text, at, at + _LONGEST_BARE)) is not None:
        yield from _unquoted(text, bare, found, strength)


def is_secret(value: str, strength: NameRating) -> bool:
    """Whether a whole text behind a telling name is a secret."""
    if strength is NameRating.STRONG:
        return (value.isdigit() and len(value) >= 4) or not is_ordinary(value)
    word = _is_word(value.strip()) and (len(value) < 12 or not value.isalpha()) and not is_mixed(value)
    return len(value) >= 4 and not word and not is_ordinary(value)


def _quoted(text: str, start: int, end: int, strength: NameRating) -> Iterator[Span]:
    if (scheme := _SCHEME.match(text, start, end)) is not None:
        start = scheme.end()
    if is_secret(text[start:end], strength):
        yield Span(start, end)


def _members(text: str, at: int, strength: NameRating) -> Iterator[Span]:
    """The texts in a list, or in an object, of secrets."""
    for _ in range(_MEMBERS):
        item = _MEMBER.match(text, at)
        if item is None or (end := _closing(text, item.end())) < 0:
            return
        yield from _quoted(text, item.end() + 1, end, strength)
        at = end + 1


def _unquoted(text: str, bare: re.Match[str], found: re.Match[str], strength: NameRating) -> Iterator[Span]:
    value, end = bare[0].rstrip(".:!?") or bare[0], bare.end()
    name = found["name"]
    code = text[end : end + 1] in {"(", "["} or _EXPRESSION.fullmatch(value) is not None
    if code or (not name.isupper() and "_" in value and value.isidentifier() and _is_word(value)):
        return  # a call, a member of an object, a variable
    spaced = found["sign"] == ":" and not found["quote"]
    if spaced and _is_word(value[:_HEAD]) and not _ends_line(text, end):
        return  # a sentence, or the type of a variable
    if strength is NameRating.STRONG:
        number = value.isdigit() and len(value) >= 4
        same = name.lower().endswith(value[:_HEAD].lower())
        secret = number or (len(value) >= 4 and not same and not is_ordinary(value))
    elif text[found.start("name") - 1 : found.start("name")] in {"?", "&", ";"}:
        secret = is_secret(value, strength)  # a parameter of an address
    else:
        secret = len(value) >= 12 and is_mixed(value[:_HEAD]) and not is_ordinary(value)
    if secret:
        in_json = found["quote"] == '"' or found.re is _PAIR
        yield Span(bare.start(), bare.start() + len(value), '"' if in_json and _NUMBER.fullmatch(value) else "")


def _closing(text: str, at: int, *, lines: bool = True) -> int:
    """Where the quote that opens at a position closes; -1 where it does not. `lines`: double quotes may span lines."""
    quote = text[at]
    end = min(len(text), at + _LONGEST)
    if quote != '"' or not lines:
        line = text.find("\n", at, end)
        end = line if line >= 0 else end
    position = at
    while (position := text.find(quote, position + 1, end)) >= 0:
        escapes = 0
        while text[position - escapes - 1] == "\\" and position - escapes - 1 > at:
            escapes += 1
        if escapes % 2 == 0:
            return position
    return -1


def _is_word(value: str) -> bool:
    return value.isalpha() or value.replace("-", "").replace("_", "").isalpha()


def _ends_line(text: str, at: int) -> bool:
    return at >= len(text) or text[at] in "\r\n"


def _cookies(text: str) -> Iterator[Span]:
    """The value of every pair of a cookie; the attributes of a cookie that is set are not secrets."""
    done = 0
    for found in _COOKIE.finditer(text):
        at = found.end()
        if found.start() < done:
            continue
        while True:
            crumb = _CRUMB.match(text, at)
            if crumb is not None:
                if crumb["name"].lower() not in _ATTRIBUTES and crumb["value"].strip('"'):
                    yield Span(*crumb.span("value"))
                at = crumb.end()
                if crumb["name"].lower() == "expires" and (date := _DATE.match(text, at)) is not None:
                    at = date.end()
            elif (lone := _LONE.match(text, at)) is not None:
                at = lone.end()
            if text[at : at + 1] == ";" or (crumb is not None and text[at : at + 1] == ","):
                at += 1
            elif crumb is None or text[at - 1] != ",":
                break
        done = at


def _spoken(text: str) -> Iterator[Span]:
    """Credentials in headers and addresses, on command lines, and in sentences."""
    for found in _BEARER.finditer(text):
        value = found["value"].lower()
        if any(map(str.isdigit, value)) or (
            len(value) >= 12 and not value.startswith(("authenti", "authori", "credential"))
        ):
            yield Span(*found.span("value"))
    for pattern in (_BASIC, _LOGIN, _SPOKEN):
        for found in pattern.finditer(text):
            value = found["value"].rstrip(".:!?")
            if not is_ordinary(value) and not (pattern is not _LOGIN and _is_word(value)):
                yield Span(*found.span("value"))
    for found in _ADDRESS.finditer(text):
        if found["password"] is not None:
            if is_secret(found["password"], NameRating.STRONG):
                yield Span(*found.span("password"))
        elif is_mixed(found["user"]):
            yield Span(*found.span("user"))
