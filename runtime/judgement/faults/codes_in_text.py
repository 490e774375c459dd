"""The status and the codes that stand in an error's words, where a library passes an answer on only as text.

Only forms that name themselves are read: a number after "HTTP", a name of a status before a colon, a code at the very
beginning, after "status" or after "stop reason". A loose number or word says nothing.
"""

from __future__ import annotations

import re

from orbiter.models.status import STATUS_BY_NAME

_PHRASES = "|".join(re.escape(each) for each in STATUS_BY_NAME)
_STATUS = re.compile(
    r"(?:^Error code:\s|\bHTTP(?:/\d(?:\.\d)?)?(?:\sstatus|\serror)?(?:\scode)?[\s:]\s?"
    r"|\bstatus(?:[\s_]?code)?(?:\s(?:of|was|is))?[\s:=]\s?|\b(?:URL|API)\sreturned\serror:\s"
    r"|\b(?:server|client)\serror\s['(]?|\bAPI\serror[\s:(]\s?)(?P<a>[45]\d\d)(?![\d.,]*\d|\s?(?:ms|s|%|tokens?)\b)"
    rf"|^(?P<b>[45]\d\d)(?=:?\s(?:{_PHRASES})\b|:\s|\s-\s|\s\{{|$|\sstatus\scode|,\smessage="
    r"|\s[A-Z_]{4,40}\.?\s\{|\s[\w.]{1,120}(?:Error|Exception):)|^\((?P<c>[45]\d\d)\)\s?Reason:"
    rf"|(?:^|[:!\n]\s?|\bwith\s)(?P<d>[45]\d\d)(?=\s\(?(?:{_PHRASES}|(?:client|server)\serror)(?:\s*$|\s?[.:,{{()<\n]|\s(?:for\b|-\s)))"
    r"|\bError code:\s(?P<f>[45]\d\d)(?=\s-\s|$)"
    r"|\bRedirect\sresponse\s'(?P<e>3\d\d)(?=\s)"
    r"|^(?P<g>40[0-489]|413|422|429|50[0-4]|52\d)"
    r"\s(?=(?-i:[A-Z][a-z]+\s[a-z]|API\s|[A-Z][\w ]{1,40}\sError\b)|<|[^\x00-\x7f])"
    r"|\b\w{0,60}Error\((?P<h>[45]\d\d),\s|<HttpError\s(?P<i>[45]\d\d)\s|\breceived\s(?P<k>[45]\d\d)\sHTTP\sresponse|\n\s*Code:\s(?P<j>[45]\d\d)\s*(?:\n|$)",
    re.IGNORECASE,
)
# `g` is the OpenAI SDK of JavaScript, and what is written in it: "400 Reasoning is mandatory …"; `h` Elasticsearch,
# `i` Google's clients, `j` Microsoft Graph, `k` PRAW.
_SAYING = "|".join(re.escape(each) for each in STATUS_BY_NAME if " " in each or each in ("unauthorized", "forbidden"))
# "Gone", "Locked" and "Conflict" are words of other texts as well.
_NAMED_STATUS = re.compile(rf"(?:^|\n)\s?({_SAYING}):\s|(?:^|:\s)({_SAYING})\W?\s*$", re.IGNORECASE)
"""``Bad Request: chat not found``, as bots' and model hubs' clients have it; ``Last error: Not Found``."""

_CODES = re.compile(
    r"\bAn\serror\soccurred\s\((\w{3,80})\)\swhen\scalling\b"  # botocore's ClientError
    r"|^([a-z][a-z0-9]{1,40}(?:_[a-z0-9]{1,40}){1,6}|[A-Z][A-Z0-9]{1,40}(?:_[A-Z0-9]{1,40}){1,6})(?=:\s|\s*$)"
    r"|\b(?:stop|finish|block)[ _]?[Rr]eason\W{1,4}(\w{3,60})\b(?!\s[a-z0-9])"
    r"|\bstatus\s?[:=]\s?(?:StatusCode\.)?([A-Z][A-Z_]{4,40})\b"  # gRPC
    r"|\b(?:[Ee]rror_?)?[Cc]ode['\"]?\s?[:=]\s?['\"]?([A-Za-z][\w.]{3,80})"  # Azure, Neo4j
    r"|^\(([A-Za-z]\w{3,60})\)\s"  # Azure
    r"|\(([A-Z][A-Za-z]{3,40})\)(?::|\soccurred)\s"  # kubectl, the AWS CLI
    r"|^\[([A-Z]{2,40}(?:_[A-Z0-9]{1,40}){1,8})(?:\.\w{1,80})?\]\s"  # Databricks
    r"|:\s\[([a-z][a-z0-9]{1,40}(?:_[a-z0-9]{1,40}){1,6})\]\s"
)

KINDS = (
    "timeout", "timedout", "ratelimit", "throttl", "toomanyrequests", "slowdown", "authentication", "autherror",
    "authfail", "unauthorized", "loginfail", "invalidcredential", "invalidtoken", "tokenexpired", "expiredtoken",
    "invalidsession", "expiredsession", "sessionexpired", "forbidden", "permissiondenied", "accessdenied",
    "notauthorized", "notfound", "doesnotexist", "nosuch", "alreadyexists", "toolarge", "usagelimit", "quotaexceeded",
    "insufficientfund", "insufficientcredit", "insufficientbalance", "paymentrequired", "connectionerror",
    "connecterror", "unreachable", "disconnected", "serviceunavailable", "overloaded", "maxsteps", "maxturns",
    "maxiterations", "badrequest", "malformedrequest", "invalidrequest", "connectionreset", "parseerror",
    "parsingerror", "contextwindow", "contextoverflow", "contentfilter", "contentpolicy",
)  # fmt: skip
"""What the names of exception classes and codes say of themselves, whatever the library."""
_WORD = re.compile(r"[\w.:-]{4,120}")


def status_in_text(text: str) -> int | None:
    """The status that a text names, as a number or by its name; None: it names none."""
    said = _STATUS.search(text)
    if said:
        return int(next(filter(None, said.groups())))
    named = _NAMED_STATUS.search(text)
    return STATUS_BY_NAME[(named[1] or named[2]).casefold()] if named else None


def codes_in_text(text: str) -> list[str]:
    """The codes that a text names."""
    return [next(filter(None, found)) for found in _CODES.findall(text)]


def code_parts(code: str) -> list[str]:
    """The parts of a code with dots, as ``OperationDenied.ServiceOverdue`` of Alibaba, Tencent and Volcengine."""
    return code.split(".") if re.fullmatch(r"[A-Za-z]\w{2,60}(?:\.[A-Za-z]\w{2,60}){1,3}", code) else []


def kinds_named(name: str) -> list[str]:
    """``*notfound*`` or ``*ratelimit*``, where a class or a code is named so (Osprey's convention)."""
    own = re.sub(r"[_-]", "", name.rsplit(".", 1)[-1]).lower() if _WORD.fullmatch(name) else ""
    return [f"*{kind}*" for kind in KINDS if kind in own]
