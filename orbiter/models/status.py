"""Names of HTTP status codes: the same under every Python, so that equal failures keep equal fingerprints.

RFC 9110 renamed four of those of RFC 7231; `http.HTTPStatus` has the newer ones from Python 3.13 on.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

_RFC_7231: Final = {
    413: "Request Entity Too Large",
    414: "Request-URI Too Long",
    416: "Requested Range Not Satisfiable",
    422: "Unprocessable Entity",
}
_RFC_9110: Final = {
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}
_NAMES: Final = {status.value: status.phrase for status in HTTPStatus} | _RFC_7231
STATUS_BY_NAME: Final = {
    name.casefold(): int(status) for names in (_NAMES, _RFC_9110) for status, name in names.items() if status >= 400
}
"""The status of every name of a failure, old and new, in lower case."""


def phrase(status: int) -> str:
    """The name of a status; empty if it has none."""
    return _NAMES.get(status, "")
