"""The tools: each is a request of an operator (`runtime.operations.requests`), under the name that agents call it by.

Descriptions, schemas and checks are the request's own. A tool may offer fewer fields than its request has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import mcp_types as types
import msgspec

from runtime.operations.requests.answers import AnswerIncident, ListIncidents, ProposeAnswer, ShowReport
from runtime.operations.requests.codec import decode_request
from runtime.operations.requests.runs import AbortRun, FreezeRuns, ListRuns, ShowRun, StartRun
from runtime.operations.requests.struct import Request

_FIELDS: Final[Mapping[str, str]] = {
    "run_id": "the id of a run, as list_runs gives it",
    "incident_id": "the id of an incident, as list_incidents gives it",
    "limit": "how many runs at most",
    "states": 'only runs in these states, for example ["waiting", "failed"]',
    "option": "the id of one of the incident's options, for example retry",
    "params": 'what the option needs, for example {"model": "openai:gpt-5-mini"} for switch_model',
    "revision": "the revision of the incident that was read; an answer to an older one is refused",
    "reason": "why, in a sentence; it is kept, and shown to the person who decides",
    "ref": "the swarm: path/to/file.py:name, seen from the workspace",
    "input": "what the swarm works on",
    "title": "what lists call the run",
}
"""What a field means, for the agent that fills it in."""


_ACT: Final = "{}, where a person has allowed agents to."


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool.

    Args:
        name: What agents call it by.
        request: What it sends.
        fields: The fields that it offers; empty: all.
        needs: Fields that must be given, beside those that the request needs.
        defaults: Values of fields that are left out, other than the request's own.
        words: What it does, where the request's own description is not for agents.
        ends: It ends something that cannot be taken back.
    """

    name: str
    request: type[Request[Any]]
    fields: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    defaults: Mapping[str, Any] = field(default_factory=dict)
    words: str = ""
    ends: bool = False

    def input_schema(self) -> dict[str, Any]:
        """The JSON schema of its arguments, from the types of the request."""
        (whole,), components = msgspec.json.schema_components((self.request,))
        found: dict[str, Any] = components.get(whole.get("$ref", "").rpartition("/")[2], whole)
        properties = {
            name: {**each, **({"description": _FIELDS[name]} if name in _FIELDS else {})}
            for name, each in found["properties"].items()
            if name in (self.fields or found["properties"])
        }
        for name, value in self.defaults.items():
            properties[name]["default"] = value
        for name in self.needs:
            properties[name].pop("default", None)
            properties[name]["minLength"] = 1
        return {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name in (*found["required"], *self.needs)],
            "additionalProperties": False,
        }

    def description(self) -> str:
        """What it does, on one line."""
        return self.words or " ".join((self.request.__doc__ or "").split())

    def as_tool(self) -> types.Tool:
        """The tool, as a list of tools has it."""
        acts = self.request.acts
        hints = types.ToolAnnotations(
            read_only_hint=not acts, destructive_hint=self.ends, idempotent_hint=not acts, open_world_hint=False
        )
        return types.Tool(
            name=self.name, description=self.description(), input_schema=self.input_schema(), annotations=hints
        )

    def read(self, arguments: Mapping[str, Any]) -> Request[Any]:
        """The request that a call asks for.

        Raises:
            InvalidField: a field is missing, not offered, or not of its type.
        """
        known = self.input_schema()
        for name in arguments:
            if name not in known["properties"]:
                raise InvalidArguments(f"{name!r:.80} is unknown here: it takes {', '.join(known['properties'])}")
        for name in known["required"]:
            if arguments.get(name) in (None, ""):
                raise InvalidArguments(f"{name}: is missing: {_FIELDS.get(name, 'it must be a text')}")
        return decode_request(self.request, {**self.defaults, **arguments})


class InvalidArguments(ValueError):
    """A tool was called with arguments that it does not take; the text says which, and what it takes."""


TOOLS: Final[Mapping[str, ToolSpec]] = {
    each.name: each
    for each in (
        ToolSpec(name="list_runs", request=ListRuns, defaults={"limit": 20}),
        ToolSpec(name="show_run", request=ShowRun),
        ToolSpec(name="list_incidents", request=ListIncidents),
        ToolSpec(name="get_report", request=ShowReport),
        ToolSpec(
            name="propose_answer",
            request=ProposeAnswer,
            needs=("reason",),
        ),
        ToolSpec(
            name="answer_incident",
            request=AnswerIncident,
            fields=("incident_id", "option", "params", "revision", "reason"),
            needs=("reason",),
            words="Answer an incident, with an option that a person has allowed agents to answer with. The first answer"
            " counts. Where it is refused, propose_answer puts it before a person.",
        ),
        ToolSpec(
            name="start_run",
            request=StartRun,
            fields=("ref", "input", "title", "queue", "reason"),
            words=_ACT.format("Start a run"),
        ),
        ToolSpec(
            name="freeze_run",
            request=FreezeRuns,
            fields=("run_id", "reason"),
            needs=("run_id", "reason"),
            words=_ACT.format("Let no new step begin in a run"),
        ),
        ToolSpec(
            name="abort_run",
            request=AbortRun,
            needs=("reason",),
            ends=True,
            words=_ACT.format("End a run now, for good"),
        ),
    )
}
"""By name. A viewer has those that change nothing."""


def offered_tools(*, viewer: bool) -> list[ToolSpec]:
    """The tools that are listed for an operator's agent, or for a viewer's."""
    return [each for each in TOOLS.values() if not (viewer and each.request.acts)]
