"""`database`: make a workspace on Postgres, carry a journal there and back, and make keys for its secrets."""

from __future__ import annotations

from pathlib import Path

import click

from console.output import print_json, print_line, print_note
from console.verbs.base import BadInput, verb
from console.workspace import workspace
from runtime.config.workspace_keys import add_key
from runtime.record.address import EXAMPLE, PostgresAddress
from runtime.record.places import init_database, journal_address
from runtime.record.transfer import export_directory, import_directory
from runtime.worker.engines.choice import init_queue


@verb()
@click.argument("action", metavar="ACTION", type=click.Choice(["init", "import", "export", "key"]))
@click.argument("directory", metavar="DIR", required=False)
@click.option("--worker", metavar="ROLE", default="", help="With init: this role of the database may drive runs.")
@click.option("--operator", metavar="ROLE", default="", help="With init: this role may also record what people decide.")
@click.option("--viewer", metavar="ROLE", default="", help="With init: this role of the database may read.")
@click.option("--dbos", is_flag=True, help='With init: also make the queue for engine = "dbos".')
@click.option(
    "--partition-runs",
    metavar="COUNT",
    type=click.IntRange(min=1, max=1_000_000_000),
    help="With init: for how many runs each new partition of the events is (at first 100000).",
)
async def database(
    action: str,
    directory: str | None,
    *,
    worker: str,
    operator: str,
    viewer: str,
    dbos: bool,
    partition_runs: int | None,
    as_json: bool,
) -> int:
    """Make the workspace's schema (init), fill it from a state directory (import), or write it to one (export).

    `key FILE` adds a private key to a file: name that file in [runtime] secret_keys_file, and each worker can decrypt
    the secrets.

    The workspace is named with --workspace or $ORBITER_WORKSPACE. For example:
    orbiter-console --workspace 'postgres://db.example.org/orbiter?workspace=news' database init
    """
    if action == "key":
        return _add_key(directory, as_json=as_json)
    address = _address()
    if (directory is None) != (action == "init"):
        raise BadInput("init takes no directory" if directory else f"say which: database {action} .orbiter")
    if (worker or operator or viewer or dbos or partition_runs) and action != "init":
        raise BadInput("--worker, --operator, --viewer, --dbos and --partition-runs belong to init")
    if directory is None:
        done = await init_database(
            address.url, worker=worker, operator=operator, viewer=viewer, partition_runs=partition_runs
        )
        if dbos:
            await init_queue(address, worker=worker, operator=operator, viewer=viewer, say=print_note)
            done += ", with a queue of DBOS"
        print_json({"workspace": address.workspace, "done": done}) if as_json else print_line(done)
        return 0
    place = Path(directory).absolute()  # noqa: ASYNC240 - no I/O
    if action == "import":
        if not place.is_dir():
            raise BadInput(f"{place} is not a directory: name a state directory, for example .orbiter")
        count = await import_directory(place, address)
        what = f"from {place} to {address.url}"
    else:
        count = await export_directory(address, place)
        what = f"from {address.url} to {place}"
    if as_json:
        print_json({"workspace": address.workspace, "directory": str(place), "events": count})
    else:
        print_line(f"{count:,} events {what}")
    print_note("the source is unchanged: go on in only one of the two")
    return 0


def _add_key(file: str | None, *, as_json: bool) -> int:
    """Add a private key to a file.

    Raises:
        BadInput: no file was named.
    """
    if file is None:
        raise BadInput("say which file: orbiter-console database key workspace.keys")
    path = Path(file).absolute()
    count = add_key(path)
    if as_json:
        print_json({"file": str(path), "keys": count})
    else:
        print_line(f"{path}: {count} {'key' if count == 1 else 'keys'}, the newest last")
    print_note("give every worker this file, and name it in [runtime] secret_keys_file; keep it secret")
    return 0


def _address() -> PostgresAddress:
    """The workspace's address.

    Raises:
        BadInput: it is a directory.
    """
    found = journal_address(workspace().state)
    if found is None:
        raise BadInput(f"name a workspace on Postgres: orbiter-console --workspace '{EXAMPLE}' database init")
    return found
