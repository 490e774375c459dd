"""Resources: open incidents as JSON, and their reports as Markdown."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, unquote

import mcp_types as types

from console.mcp.results import MAX_CHARS, json_text
from console.mcp.runtime_access import RuntimeAccess
from runtime.operations.requests.answers import ListIncidents, ShowIncident, ShowReport
from runtime.operations.requests.incident_results import OpenIncident
from screens.render.sanitize import sanitize_line, sanitize_text

INCIDENTS: Final = "orbiter://incidents/"
REPORTS: Final = "orbiter://reports/"
MAX_LISTED: Final = 100
"""Incidents that are listed; the tool `list_incidents` has all."""
_MAX_URI_CHARS: Final = 500

TEMPLATES: Final = (
    types.ResourceTemplate(
        uri_template=f"{INCIDENTS}{{incident_id}}",
        name="incident",
        description="An incident with its answer, if it has one.",
        mime_type="application/json",
    ),
    types.ResourceTemplate(
        uri_template=f"{REPORTS}{{incident_id}}",
        name="report",
        description="The report of an incident: what happened, why, what was tried, and what may be answered.",
        mime_type="text/markdown",
    ),
)


class UnknownResource(LookupError):
    """The address is not that of a resource; the text says how they begin."""


def uris_of(incident_id: str) -> tuple[str, str]:
    """The addresses of an incident and of its report."""
    name = quote(incident_id, safe="")
    return f"{INCIDENTS}{name}", f"{REPORTS}{name}"


def is_address(uri: str) -> bool:
    """Whether it can be the address of one of them."""
    return uri.startswith((INCIDENTS, REPORTS)) and len(uri) <= _MAX_URI_CHARS


async def list_resources(runtime: RuntimeAccess) -> list[types.Resource]:
    """The open incidents, oldest first. Raises `LinkError`."""
    return [resource for row in (await runtime.ask(ListIncidents()))[:MAX_LISTED] for resource in _resources_of(row)]


def _resources_of(row: OpenIncident) -> Iterable[types.Resource]:
    incident, report = uris_of(row.id)
    title = sanitize_line(f"{row.id}: {row.question or row.message or row.title}")
    yield types.Resource(uri=incident, name=f"incident {row.id}", title=title, mime_type="application/json")
    yield types.Resource(uri=report, name=f"report {row.id}", title=title, mime_type="text/markdown")


async def read_resource(runtime: RuntimeAccess, uri: str) -> types.TextResourceContents:
    """One of them, also of an incident that was answered.

    Raises:
        UnknownResource: the address is not one of ours.
        LinkError: the incident does not exist, or the runtime cannot be reached.
    """
    if uri.startswith(INCIDENTS):
        found = await runtime.ask(ShowIncident(incident_id=_name_in(uri, INCIDENTS)))
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=json_text(found))
    if uri.startswith(REPORTS):
        report = await runtime.ask(ShowReport(incident_id=_name_in(uri, REPORTS)))
        text = sanitize_text(report.markdown)[:MAX_CHARS]
        return types.TextResourceContents(uri=uri, mime_type="text/markdown", text=text)
    raise UnknownResource(f"{uri!r:.200} is unknown here: addresses begin with {INCIDENTS} or {REPORTS}")


def _name_in(uri: str, prefix: str) -> str:
    name = unquote(uri.removeprefix(prefix))
    if not name:
        raise UnknownResource(f"{uri!r:.200} must name an incident: {prefix}INCIDENT")
    return name
