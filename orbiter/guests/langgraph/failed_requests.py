"""Requests to models that failed within one attempt of a step: middleware inside of it may have asked again by itself.

Where the same model was asked again, its author's retries are the ones that count: the runtime adds none of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.tracers.context import register_configure_hook


class FailedRequests(BaseCallbackHandler):
    """Counts the requests of one attempt that failed, by their model. LangChain tells it of each."""

    run_inline = True

    def __init__(self) -> None:
        self._asked: dict[Any, str] = {}
        self._failed: Counter[str] = Counter()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count from nothing what is asked inside."""
        self._asked.clear()
        self._failed.clear()
        token = _COUNTED.set(self)
        try:
            yield
        finally:
            _COUNTED.reset(token)

    def on_chat_model_start(self, serialized: dict[str, Any], messages: Any, *, run_id: Any, **kwargs: Any) -> None:
        """A model is asked."""
        self._asked[run_id] = json.dumps(serialized, default=str, sort_keys=True)

    def on_llm_error(self, error: BaseException, *, run_id: Any, **kwargs: Any) -> None:
        """It failed."""
        self._failed[self._asked.get(run_id, "")] += 1

    def retry_policy(self) -> Mapping[str, Any]:
        """The step's settings for retries: none where one model was asked more than once, else the usual ones."""
        return {"max_attempts": 1} if max(self._failed.values(), default=0) > 1 else {}


_COUNTED: ContextVar[FailedRequests | None] = ContextVar("orbiter_failed_requests", default=None)
register_configure_hook(_COUNTED, inheritable=True)
