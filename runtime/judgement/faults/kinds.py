"""Kinds of failures, as the names of exception classes and codes say them, whatever the library.

A kind counts where a name ends with one of its words: `ShelfNotFound`, `ParcelNotFoundError`, but not `NotFoundPage`.
Three words count anywhere in a name, as seed 003 wants it.
"""

from __future__ import annotations

import re

KINDS = {
    "timeout": ("timeout", "timedout"),
    "ratelimit": ("ratelimit", "throttling", "throttled", "toomanyrequests"),
    "quota": ("usagelimit", "insufficientfunds", "insufficientcredits", "insufficientbalance",
              "paymentrequired"),
    "authentication": ("authentication", "autherror", "authfailed", "authfailure",
                       "unauthorized", "loginfailed", "loginfailure", "invalidcredential", "invalidcredentials",
                       "invalidtoken", "tokenexpired", "expiredtoken", "invalidsession", "sessionexpired"),
    "permission": ("forbidden", "permissiondenied", "accessdenied", "notauthorized"),
    "notfound": ("notfound", "doesnotexist"),
    "alreadyexists": ("alreadyexists",),
    "badrequest": ("badrequest", "malformedrequest", "invalidrequest"),
    "toolarge": ("requesttoolarge", "payloadtoolarge", "entitytoolarge", "contenttoolarge"),
    "contextwindow": ("contextwindow", "contextwindowoverflow", "contextoverflow"),
    "contentfilter": ("contentfilter", "contentfiltered", "contentpolicy", "contentpolicyviolation"),
    "unavailable": ("serviceunavailable", "serveroverloaded", "modeloverloaded", "overloadederror"),
    "connection": ("connectionerror", "connecterror", "connectionreset", "serverunreachable", "hostunreachable",
                   "networkunreachable", "serverdisconnected"),
    "steps": ("maxsteps", "maxturns", "maxiterations"),
    "parse": ("parseerror", "parsingerror"),
}  # fmt: skip
"""The words of each kind. Rules ask for a kind as ``*notfound*``, both of classes and of codes."""

_ANYWHERE = ("timeout", "ratelimit", "authentication")
_NAME = re.compile(r"[\w.:-]{4,120}")
_ENDING = re.compile(r"(?:error|exception|failed|exceeded|reached|expired)$")
_KIND_OF = {word: f"*{kind}*" for kind, words in KINDS.items() for word in words}
_ENDS_WITH_KIND = re.compile(rf"(?:{'|'.join(sorted(_KIND_OF, key=len, reverse=True))})$")


def kinds_named(name: str) -> list[str]:
    """``*notfound*`` or ``*ratelimit*``, where a class or a code is named so (Osprey's convention)."""
    rest = re.sub(r"[_-]", "", name.rsplit(".", 1)[-1]).lower() if _NAME.fullmatch(name) else ""
    found = [f"*{word}*" for word in _ANYWHERE if word in rest]
    while rest:
        if said := _ENDS_WITH_KIND.search(rest):
            found.append(_KIND_OF[said[0]])
        shorter = _ENDING.sub("", rest)
        rest = shorter if shorter != rest else ""
    return list(dict.fromkeys(found))
