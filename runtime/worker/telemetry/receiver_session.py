"""The HTTP session of the exporters: it keeps what the receiver said, which the library tells in part or not at all.

The library takes every answer below 400 for an acceptance. A redirect, which it does not follow, and the page of a
login in front of the receiver are failures here: what was sent would be lost.
"""

from __future__ import annotations

import os
import re
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from requests import PreparedRequest, RequestException, Response, Session
from requests.exceptions import ConnectTimeout, InvalidSchema, InvalidURL, Timeout

from orbiter.errors import causes
from runtime.record.state.events import utc_now

_BODY_CHARS = 200
_HINTS = {
    401: "is the key in OTEL_EXPORTER_OTLP_HEADERS right?",
    403: "may the key in OTEL_EXPORTER_OTLP_HEADERS write there?",
    404: "is the path of OTEL_EXPORTER_OTLP_ENDPOINT right?",
    405: "is the path of OTEL_EXPORTER_OTLP_ENDPOINT right?",
}
_PAGE_BEGIN = re.compile(rb"\s*<(?:!doctype html|html)", re.IGNORECASE)
_PAGE = "the answer is an HTML page and not one of OTLP: is a login in front of the receiver?"
_PROVIDER = "OTEL_PYTHON_EXPORTER_OTLP_HTTP_{}CREDENTIAL_PROVIDER"
"""A variable that names a session of the user's own, for every signal or for one."""


def receiver_session(signal: Literal["TRACES", "METRICS"]) -> ReceiverSession | None:
    """A session for one exporter; None where the user's own is to be used, which the library finds."""
    if any(os.environ.get(_PROVIDER.format(kind)) for kind in ("", f"{signal}_")):
        return None
    return ReceiverSession()


class ReceiverSession(Session):
    """For one thread and one signal.

    Attributes:
        status: Of the last answer; None where there was none.
        said: What went wrong since the last `forget`, in words; empty where nothing did.
        body: Of an answer that accepted.
        retry_after_s: For how many seconds the receiver asks to be left alone; 0 where it does not ask.
    """

    def __init__(self) -> None:
        super().__init__()
        self.forget()

    def forget(self) -> None:
        """Forget the last answer, before a request that the library may make several times."""
        self.status: int | None = None
        self.said = ""
        self.body = b""
        self.retry_after_s = 0.0

    def send(self, request: PreparedRequest, **kwargs: Any) -> Response:
        """As the library's.

        Raises:
            RequestException: the receiver did not answer, or the answer does not come from a receiver of OTLP.
        """
        try:
            answer = super().send(request, **kwargs)
            self.status = answer.status_code
            if 300 <= answer.status_code < 400:
                raise RequestException(_redirect(answer))
            if answer.ok and _PAGE_BEGIN.match(answer.content):  # some receivers say text/html of an empty answer
                raise RequestException(_PAGE)
        except RequestException as exc:
            if not (isinstance(exc, Timeout) and self.said):  # the last of several tries may have little time left
                self.said = _why(exc)
            raise
        if answer.ok:
            self.body, self.said = answer.content, ""
        else:
            self.said = _told(answer)
            self.retry_after_s = _retry_after_s(answer.headers.get("retry-after", ""))
        return answer


def _redirect(answer: Response) -> str:
    target = one_line(answer.headers.get("location", "?"))
    name = "name the receiver's own address in OTEL_EXPORTER_OTLP_ENDPOINT"
    return f"the receiver answered {answer.status_code} and redirects to {target}: {name}"


def _told(answer: Response) -> str:
    """An answer that refuses, in words: its status, the beginning of its text, and what to look at."""
    parts = [one_line(f"the receiver answered {answer.status_code} {answer.reason or ''}")]
    if not answer.headers.get("content-type", "").startswith(("application/x-protobuf", "text/html")):
        parts.append(one_line(answer.content[: 4 * _BODY_CHARS].decode("utf-8", "replace")))
    parts.append(_HINTS.get(answer.status_code, ""))
    return ": ".join(part for part in parts if part)


def _why(exc: RequestException) -> str:
    """What kept the answer away: the first cause, since the library's own text repeats it in three wrappings."""
    *_, first = causes(exc)
    if isinstance(exc, InvalidSchema | InvalidURL):
        return f"{one_line(str(exc))}: OTEL_EXPORTER_OTLP_ENDPOINT is an address such as http://localhost:4318"
    if isinstance(exc, Timeout):
        return "no connection in time" if isinstance(exc, ConnectTimeout) else "no answer in time"
    if isinstance(first, OSError) and first.strerror:
        return f"no connection: {first.strerror}"
    return str(exc) if type(exc) is RequestException else f"{type(first).__name__}: {one_line(str(first))}"


def _retry_after_s(given: str) -> float:
    """Seconds of a header `Retry-After`, which names them or an instant (RFC 9110)."""
    if given.isascii() and given.strip().isdigit():
        return float(given)
    try:
        instant = parsedate_to_datetime(given)
    except ValueError:
        return 0.0
    return max(0.0, (instant.astimezone() - utc_now()).total_seconds())


def one_line(text: str) -> str:
    """Foreign text as one short line without control characters."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())[:_BODY_CHARS]
