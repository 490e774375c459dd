"""`export`: a run, or one incident of it, as one redacted file; and reading one for `show` and `report`."""

from __future__ import annotations

from pathlib import Path

import click

from console.output import print_note, print_raw
from console.verbs.base import (
    BadInput,
    cli_actor,
    find_run,
    open_for_reading,
    verb,
)
from console.verbs.program.open_console import open_export
from console.workspace import workspace
from orbiter.text_input import UnreadableText, read_text
from runtime.config.loader import load_configuration, load_env_file
from runtime.execution.secret_vault import make_redactor
from runtime.judgement.reports import export_file
from runtime.record.journal import Journal
from runtime.record.state.events import WORKSPACE_RUN_ID, utc_now
from screens.render.sanitize import clean_line

_EXPORT_BYTES = 1 << 30


@verb(json=False)
@click.argument("what", metavar="RUN|INCIDENT")
@click.option("-o", "--output", required=True, metavar="FILE", help="Where to; - is stdout.")
@click.option("--force", is_flag=True, help="Write over a file that is there.")
async def export(what: str, *, output: str, force: bool) -> int:
    """Write a run, or one incident, to a file: events, reports and decisions, redacted.

    The file opens read-only, elsewhere as well, with: replay FILE, show --file FILE, report --file FILE
    """
    async with open_for_reading() as journal:
        run_id, incident_id = await _named(journal, what)
        assert journal is not None
        events, workspaces = await journal.read(run_id), await journal.read(WORKSPACE_RUN_ID)
    header = export_file.ExportHeader(
        orbiter_export=export_file.FORMAT,
        run_id=run_id,
        incident_id=incident_id,
        exported_at=utc_now(),
        exported_by=cli_actor().name,
    )
    configuration = load_configuration(workspace().root)
    load_env_file(configuration)  # its secrets are to be known
    mask = make_redactor(configuration.execution_config().redact)
    text = "\n".join(export_file.export_lines(events, header, mask, workspaces)) + "\n"
    if output == "-":
        print_raw(text)
        return 0
    _write(Path(output), text, over=force)
    print_note(f"{'incident ' + incident_id if incident_id else 'run ' + run_id}: written to {output}")
    return 0


def _write(path: Path, text: str, *, over: bool) -> None:
    """For its owner alone: what no pattern finds is still in it."""
    if path.exists() and not over and not path.is_dir():
        raise BadInput(f"{path} is there already: say --force to write over it")
    try:
        path.touch(mode=0o600)
        path.write_text(text, encoding="ascii")
    except OSError as exc:
        raise BadInput(f"{path} cannot be written: {exc.strerror or exc}; give a file in a folder there is") from exc


async def _named(journal: Journal | None, name: str) -> tuple[str, str]:
    found = await journal.incident(name) if journal is not None else None
    if found is not None:
        return found[0], found[1].incident_id
    return (await find_run(journal, name)).id, ""


def read_export_file(path: str) -> export_file.Export:
    """An export from its file.

    Raises:
        Refusal: the file cannot be read, or is no export.
    """
    try:
        return export_file.read_export(read_text(Path(path), most=_EXPORT_BYTES))
    except UnreadableText as exc:
        raise BadInput(clean_line(str(exc))) from exc
    except export_file.InvalidExport as exc:
        raise BadInput(f"{clean_line(path)}: {exc}") from exc


@click.command()
@click.argument("path", metavar="FILE")
@click.option("--mouse/--no-mouse", default=None, help="Take the mouse or not (default: not over SSH).")
@click.option("--theme", metavar="NAME", help="The looks (default: $ORBITER_THEME; see `themes`).")
@click.pass_context
def replay(ctx: click.Context, path: str, *, mouse: bool | None, theme: str | None) -> None:
    """Open an export in the console, read-only: its run as it was, and nothing to act on."""
    try:
        export_file = read_export_file(path)
    except BadInput as exc:
        print_note(str(exc))
        ctx.exit(exc.code)
    ctx.exit(open_export(export_file, path, mouse=mouse, theme=theme))
