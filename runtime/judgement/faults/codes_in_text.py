"""The status and the codes that stand in an error's words, where a library passes an answer on only as text.

Only forms that say what they are are read: a number after "HTTP" or before the name of its status, the name of a status
at the very beginning, a code after "error code" or "stop reason". A number or a word alone says nothing. A code that is
read counts only where a rule knows it (`known_codes`).
"""

from __future__ import annotations

import re

from orbiter.models.status import STATUS_BY_NAME

_PHRASES = "|".join(re.escape(each) for each in STATUS_BY_NAME)
_NUMBER = r"([45]\d\d)"
STATUS_FORMS = {
    "labelled": r"(?:^Error code:\s|\bHTTP(?:/\d(?:\.\d)?)?(?:\sstatus|\serror)?(?:\scode)?[\s:]\s?"
    r"|\bstatus(?:[\s_]?code)?(?:\s(?:of|was|is))?[\s:=]\s?|\b(?:URL|API)\sreturned\serror:\s"
    rf"|\b(?:server|client)\serror\s['(]?|\bAPI\serror[\s:(]\s?){_NUMBER}(?![\d.,]*\d|\s?(?:ms|s|%|tokens?)\b)",
    "leading": rf"^{_NUMBER}(?=:?\s(?:{_PHRASES})\b|:\s|\s-\s|\s\{{|$|\sstatus\scode|,\smessage="
    r"|\s[A-Z_]{4,40}\.?\s\{|\s[\w.]{1,120}(?:Error|Exception):|\s<(?:!doctype\s|html\b))",
    "with its name": rf"(?:^|[:!\n]\s?|\bwith\s){_NUMBER}"
    rf"(?=\s\(?(?:{_PHRASES}|(?:client|server)\serror)(?:\s*$|\s?[.:,{{()<\n]|\s(?:for\b|-\s)))",
    "OpenAI's SDK": rf"\bError code:\s{_NUMBER}(?=\s-\s|$)",
    "httpx": r"\bRedirect\sresponse\s'(3\d\d)(?=\s)",
    "Kubernetes": rf"^\({_NUMBER}\)\s?Reason:",
    "Elasticsearch": rf"\b\w{{0,60}}Error\({_NUMBER},\s'[a-z_]{{3,60}}_exception'",
    "Google's clients": rf"<HttpError\s{_NUMBER}\swhen\srequesting\s",
    "PRAW": rf"\breceived\s{_NUMBER}\sHTTP\sresponse",
    "Microsoft Graph": rf"\bAPIError\n[ \t]{{0,20}}Code:\s{_NUMBER}[ \t]{{0,20}}(?:\n|$)",
}
_STATUS = tuple(re.compile(form, re.IGNORECASE) for form in STATUS_FORMS.values())

_NAMES = (
    "Bad Request|Unauthorized|Forbidden|Not Found|Method Not Allowed|Request Entity Too Large|Unprocessable Entity"
    "|Too Many Requests|Internal Server Error|Bad Gateway|Service Unavailable|Gateway Timeout"
)
# Not "Conflict", "Loop Detected" or "Insufficient Storage": those are words of other texts as well.
_NAMED_STATUS = re.compile(
    rf"^({_NAMES})(?::\s|\W?\s*$)|\berror:\s({_NAMES})\W?\s*$|\(Request ID: [^)\n]{{1,80}}\)\s?\n\s?\n?({_NAMES}):\s",
    re.IGNORECASE,
)
"""``Bad Request: chat not found``, as clients of bots have it; ``Last error: Not Found``; Hugging Face."""

CODE_FORMS = {
    "botocore": r"\bAn\serror\soccurred\s\((\w{3,80})\)\swhen\scalling\b",
    "code: words": r"^(?=\w{0,80}(?i:error|exceeded|limit|cooldown|insufficient|invalid|expired|denied|not_found"
    r"|unsupported|unavailable|exhausted|overloaded|too_)|\w{3,90}\s*$)"
    r"([a-z][a-z0-9]{1,40}(?:_[a-z0-9]{1,40}){1,6}|[A-Z][A-Z0-9]{1,40}(?:_[A-Z0-9]{1,40}){1,6})(?=:\s|\s*$)",
    "stop reason": r"\b(?:stop|finish|block)[ _]?[Rr]eason\W{1,4}(\w{3,60})\b(?!\s[a-z0-9])",
    "gRPC": r"\b(?:status\s?=\s?StatusCode\.|got\sstatus:\s)([A-Z][A-Z_]{4,40})\b",
    "error code": r"\b[Ee]rror[ _]?[Cc]ode['\"]?\s?[:=]\s?['\"]?([A-Za-z][\w.]{3,80})",
    "code in braces": r"(?:\{\s?['\"]?|,\s?['\"])code['\"]?\s?[:=]\s?['\"]?([A-Za-z][\w.]{3,80})",  # Neo4j
    "Azure": r"^\(([a-z]{2,40}_\w{3,60}|[A-Z][a-z]{2,40}[A-Z]\w{2,60})\)\s",
    "kubectl": r"\bError\sfrom\sserver\s\(([A-Z][A-Za-z]{3,40})\):\s",
    "the AWS CLI": r"\berror(?::\s[45]\d\d)?\s\(([A-Z][A-Za-z]{3,40})\)(?::|\soccurred)\s",
    "Databricks": r"^\[([A-Z]{2,40}(?:_[A-Z0-9]{1,40}){1,8})(?:\.\w{1,80})?\]\s",
    "[code]": r":\s\[([a-z][a-z0-9]{1,40}(?:_[a-z0-9]{1,40}){1,6})\]\s",
}
_CODES = tuple(re.compile(form) for form in CODE_FORMS.values())


def status_in_text(text: str) -> int | None:
    """The status that a text names first, as a number or by its name; None: it names none."""
    said = [found for form in _STATUS if (found := form.search(text))]
    if said:
        return int(min(said, key=lambda found: found.start())[1])
    named = _NAMED_STATUS.search(text)
    return STATUS_BY_NAME[next(filter(None, named.groups())).casefold()] if named else None


def codes_in_text(text: str) -> list[str]:
    """What may be codes in a text, by place."""
    found = {said.start(1): said[1] for form in _CODES for said in form.finditer(text)}
    return [found[at] for at in sorted(found)]


def code_parts(code: str) -> list[str]:
    """The parts of a code with dots, as ``OperationDenied.ServiceOverdue`` of Alibaba, Tencent and Volcengine."""
    return code.split(".") if re.fullmatch(r"[A-Za-z]\w{2,60}(?:\.[A-Za-z]\w{2,60}){1,3}", code) else []
