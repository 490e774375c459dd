"""`export`: a run, or one incident of it, as one redacted file or HTML page; reading either one."""

from __future__ import annotations

from pathlib import Path

import click

from console.output import print_note, print_raw
from console.verbs.base import (
    BadInput,
    cli_origin,
    find_run,
    open_for_reading,
    operations_on,
    verb,
)
from console.verbs.program.open_console import open_export
from console.workspace import workspace
from orbiter.text_input import UnreadableText, read_text
from runtime.config.loader import load_configuration, load_env_file
from runtime.judgement.reports import export_file
from runtime.operations.requests.reports import ExportRun
from runtime.record.journal import Journal
from screens.render.sanitize import sanitize_line

_EXPORT_BYTES = 1 << 30


@verb(reads=True, json=False)
@click.argument("what", metavar="RUN|INCIDENT")
@click.option("-o", "--output", default="", metavar="FILE", help="The file to write; - is stdout.")
@click.option("--html", default="", metavar="FILE", help="A report for a browser, which holds the export; - is stdout.")
@click.option("--test", "tests", default="", metavar="DIRECTORY", help="A test for pytest of each step that failed.")
@click.option("--force", is_flag=True, help="Replace a file that exists.")
async def export(what: str, *, output: str, html: str, tests: str, force: bool) -> int:
    """Write a run, or one incident, to a file: events, reports and decisions, redacted.

    With --html the file is a page that any browser opens, without a server. Both kinds of file can be opened on any
    machine, read-only, with: replay FILE, show --file FILE, report --file FILE

    With --test two files are written: the record, and a test that replays it with your current code.
    """
    if not (output or html or tests) or (output and output == html):
        raise BadInput(
            "say where to: -o FILE for an export, --html FILE for a page, --test DIRECTORY for a test, or several,"
            " for example --html run.html"
        )
    async with open_for_reading() as journal:
        run_id, incident_id = await _named(journal, what)
        assert journal is not None
        load_env_file(load_configuration(workspace().root))  # its secrets are to be known
        operations = operations_on(journal)
        request = ExportRun(run_id="" if incident_id else run_id, incident_id=incident_id)
        text = (await operations.run(request, cli_origin())).text if output or html else ""
        # A test replays the whole run, also where it is about one incident of it.
        whole = (await operations.run(ExportRun(run_id=run_id), cli_origin())).text if tests else ""
    named = f"incident {incident_id}" if incident_id else f"run {run_id}"
    if output:
        _put(text, output, named, over=force)
    if html:
        from console.html.page import html_report  # most exports are not for a browser

        _put(html_report(text), html, named, over=force)
    if tests:
        from console.verbs.runs.exported_tests import write_test

        write_test(whole, Path(tests), incident_id, over=force)
    return 0


def _put(text: str, place: str, named: str, *, over: bool) -> None:
    if place == "-":
        print_raw(text.encode("ascii", "xmlcharrefreplace").decode("ascii"))  # an export is in ASCII as it is
        return
    _write(Path(place), text, over=over)
    print_note(f"{named}: written to {place}")


def _write(path: Path, text: str, *, over: bool) -> None:
    """For its owner alone: what no pattern finds is still in it."""
    if path.exists() and not over and not path.is_dir():
        raise BadInput(f"{path} is there already: give --force to replace it")
    try:
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise BadInput(f"{path} cannot be written: {exc.strerror or exc}; give a file in a folder that exists") from exc


async def _named(journal: Journal | None, name: str) -> tuple[str, str]:
    found = await journal.incident(name) if journal is not None else None
    if found is not None:
        return found[0], found[1].incident_id
    return (await find_run(journal, name)).id, ""


def read_export_file(path: str) -> export_file.Export:
    """An export from its file.

    Raises:
        BadInput: the file cannot be read, or is not an export.
    """
    try:
        return export_file.read_export(read_text(Path(path), most=_EXPORT_BYTES))
    except UnreadableText as exc:
        raise BadInput(f"{sanitize_line(str(exc))}; give a file that was written by: export RUN -o FILE") from exc
    except export_file.InvalidExport as exc:
        raise BadInput(f"{sanitize_line(path)}: {exc}") from exc


@click.command()
@click.argument("path", metavar="FILE")
@click.option("--mouse/--no-mouse", default=None, help="Use the mouse or not (default: not over SSH).")
@click.option("--theme", metavar="NAME", help="The theme (default: $ORBITER_THEME; see `themes`).")
@click.pass_context
def replay(ctx: click.Context, path: str, *, mouse: bool | None, theme: str | None) -> None:
    """Open an export in the console, read-only.

    FILE is a run or an incident that `export` wrote, as a file or as a page, on this machine or on another one: for
    example `export RUN -o run.jsonl`, then `replay run.jsonl`. No workspace is needed, and nothing is run.
    """
    try:
        export_file = read_export_file(path)
    except BadInput as exc:
        print_note(str(exc))
        ctx.exit(exc.code)
    ctx.exit(open_export(export_file, path, mouse=mouse, theme=theme))
