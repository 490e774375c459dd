"""What the parts of a run's fold need of the whole."""

from __future__ import annotations

from typing import Any, Protocol

from runtime.judgement.traces.attribute_text import AttributeText
from runtime.judgement.traces.span import Attributes, Span, TraceSettings
from runtime.record.state.durable_run import DurableRun


class TracedRun(Protocol):
    """See `runtime.judgement.traces.run_spans.RunSpans`."""

    @property
    def state(self) -> DurableRun:
        """The run, with the present event in it."""
        ...

    @property
    def text(self) -> AttributeText:
        """What cleans texts."""
        ...

    @property
    def settings(self) -> TraceSettings:
        """What is sent."""
        ...

    @property
    def rewinds(self) -> int:
        """How often the run was turned back."""
        ...

    def span_of(self, path: str) -> int:
        """The span under which something at a node stands: the innermost one around it that is open."""
        ...

    def make(  # noqa: PLR0917 - of this package
        self, span: int, parent: int, name: str, start: int, end: int, attributes: Attributes, **more: Any
    ) -> Span:
        """A span of this run, with what all of them carry."""
        ...
