"""What all verbs have in common: `--json`, `--state`, how they run, and how they fail.

A verb waits for what is imported here, so this module loads neither events nor an event loop until they are needed.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import click

from console.exit_codes import BAD_INPUT, FAILED
from console.logs import sanitize_logs
from console.output import STANDARD_OUTPUT, drop_output, print_note, set_mask
from console.preferences.loader import read_preferences, redacted_views
from console.state_option import check_state, missing_state
from console.verbs.completion import with_completion
from console.workspace import workspace
from orbiter.errors import ConfigurationError, OrbiterError
from runtime.daemon.log_file import log_path
from runtime.operations.context import OperationContext, Origin
from runtime.operations.operations import Operations
from runtime.record.journal import AmbiguousId, Journal, JournalError
from runtime.record.places import journal_exists, open_journal
from runtime.record.workspace_lock import holder
from screens.render.sanitize import sanitize_line
from screens.shell import streams

if TYPE_CHECKING:
    from pathlib import Path

    from runtime.record.journal_care import JournalCare
    from runtime.record.state.durable_run import DurableRun
    from runtime.record.state.events import Actor, IncidentAnswered, IncidentOpened
    from runtime.record.state.summary import Summary

P = ParamSpec("P")


class BadInput(Exception):
    """What was asked cannot be done; the text says what, where, and what to do instead."""

    def __init__(self, text: str, *, code: int = BAD_INPUT) -> None:
        super().__init__(text)
        self.code = code


def verb(
    *,
    json: bool = True,
    reads: bool = False,
    resumes: bool = False,
    command_class: type[click.Command] = click.Command,
    at_once: Callable[..., int | None] | None = None,
) -> Callable[[Callable[P, Coroutine[Any, Any, int]]], click.Command]:
    """A coroutine that returns an exit code as a click command with `--state` and, if it prints, `--json`. One that
    `reads` what was run notes where the command line names a state directory that is missing. One that `resumes`
    what was interrupted has `--resume`. `command_class`: one that has more flags than its function says. `at_once` is
    tried before the coroutine, with the same arguments: a quicker way for what is asked for most. It does all of it
    and returns the exit code; or it writes nothing and returns None.
    """

    def made(body: Callable[P, Coroutine[Any, Any, int]]) -> click.Command:
        @wraps(body)
        def command(*args: P.args, **kwargs: P.kwargs) -> None:
            state = kwargs.pop("state", None)
            if isinstance(state, str):
                check_state(state)
                os.environ["ORBITER_STATE"] = os.path.abspath(state)  # noqa: PTH100 - as in console.cli
            context = click.get_current_context()
            named = str(state or context.find_root().params.get("state") or "")
            if reads and named and not os.environ.get("ORBITER_WORKSPACE") and (note := missing_state(named)):
                print_note(note)
            declared = context.command.get_params(context)

            async def checked() -> int:
                _refuse_undecodable(kwargs, declared)
                return await body(*args, **kwargs)

            def tried() -> int | None:
                _refuse_undecodable(kwargs, declared)
                return at_once(*args, **kwargs) if at_once is not None else None

            code = run_verb(checked, resumes=resumes, at_once=tried if at_once is not None else None)
            if code != BAD_INPUT:  # who reads all of the files has refused them already
                _warn_of_settings()
            sys.exit(code)

        options = [click.option("--state", metavar="DIR", help="Where the workspace keeps its state.")]
        if json:
            options.append(click.option("--json", "as_json", is_flag=True, help="JSON, one object per line."))
        found: Any = command
        for option in options:
            found = option(found)
        return with_completion(click.command(cls=command_class)(found), open_for_reading)

    return made


def _warn_of_settings() -> None:
    """Warn of what is not read in `orbiter.toml`, once, after the result. A file that cannot be read is another verb's
    affair.
    """
    with suppress(ConfigurationError):
        for line in read_preferences(workspace().root).unknown:
            print_note(line)


def _mask_views() -> None:
    """Mask what is printed where the workspace asks for it, and where its file cannot be read."""
    try:
        patterns = redacted_views(workspace().root)
    except ConfigurationError:
        patterns = ()
    if patterns is None:
        return
    from orbiter.redaction import BadPattern
    from runtime.execution.view_redaction import ViewRedactor

    views = ViewRedactor(patterns, masked=True)
    try:
        views.mask_text("")
    except BadPattern:
        views = ViewRedactor(masked=True)
    set_mask(views)


def run_verb(
    body: Callable[[], Coroutine[Any, Any, int]],
    *,
    resumes: bool = False,
    at_once: Callable[[], int | None] | None = None,
) -> int:
    """The exit code of `at_once`, or else of a verb's body; what ends it in an error is said on stderr."""
    sanitize_logs()
    _mask_views()
    try:
        code = at_once() if at_once is not None else None
        if code is not None:
            return code
        import asyncio

        return asyncio.run(body())
    except BadInput as exc:
        print_note(str(exc))
        return exc.code
    except BrokenPipeError:
        drop_output(streams.stdout())  # the reader has had enough, as `head` does
        return 128 + signal.SIGPIPE
    except JournalError as exc:
        print_note(str(exc))
        return BAD_INPUT if isinstance(exc.__cause__, OSError) and exc.__cause__.errno in _FORBIDDEN else FAILED
    except OSError as exc:
        if exc.filename == STANDARD_OUTPUT:
            drop_output(streams.stdout())
        print_note(_os_error(exc))
        return BAD_INPUT if exc.filename and exc.errno in _BAD_PATH else FAILED
    except OrbiterError as exc:
        print_note(str(exc))
        return BAD_INPUT
    except KeyboardInterrupt:
        print_note(f"interrupted; what was recorded stays{', and --resume goes on from there' if resumes else ''}")
        return 130


_FORBIDDEN = (errno.EACCES, errno.EPERM, errno.EROFS)
_BAD_PATH = (errno.ENAMETOOLONG, errno.ELOOP, errno.ENOTDIR, errno.EISDIR, errno.ENOENT, *_FORBIDDEN)
"""What is wrong with the path itself, which was typed."""


def _os_error(exc: OSError) -> str:
    """What failed, and with which file, in words."""
    name = f"{sanitize_line(os.fsdecode(exc.filename), limit=200)}: " if isinstance(exc.filename, str | bytes) else ""
    return f"{name}{exc.strerror or exc}"


def _refuse_undecodable(params: Mapping[str, Any], declared: Iterable[click.Parameter]) -> None:
    """Text is kept and compared as UTF-8. A path may be any bytes.

    Raises:
        BadInput: an argument is not UTF-8.
    """
    for parameter in declared:
        if parameter.metavar in _PATHS:
            continue
        given = params.get(parameter.name or "")
        for each in given if isinstance(given, tuple) else (given,):
            if isinstance(each, str) and any("\ud800" <= char <= "\udfff" for char in each):
                raise BadInput(f"{parameter.get_error_hint(None)} must be UTF-8 text")


_PATHS = ("FILE", "DIR", "PATH")


def cli_actor() -> Actor:
    """The user who typed the command."""
    import getpass

    from runtime.record.state.events import Actor

    try:
        name = getpass.getuser()
    except (KeyError, OSError):  # a container's user without a name: KeyError before Python 3.13
        name = f"uid {os.getuid()}"
    return Actor(name=name, channel="cli")


def operations_on(journal: Journal) -> Operations:
    """The operations of this workspace, on its journal."""
    place = workspace()
    return Operations(OperationContext(journal, place.root, log_path(place.state)))


def cli_origin() -> Origin:
    """That of what is typed here."""
    return Origin(cli_actor())


@asynccontextmanager
async def open_for_reading() -> AsyncIterator[JournalCare | None]:
    """The workspace's journal to look at; None where nothing has been run yet."""
    place = workspace().state
    if not journal_exists(place):
        yield None
        return
    async with await open_journal(place, readonly=True) as journal:
        yield journal


def make_state(place: Path) -> None:
    """Make the workspace's state directory, unless it exists.

    Raises:
        BadInput: it cannot be made.
    """
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as exc:
        raise BadInput(
            f"cannot make the state directory {sanitize_line(str(place), limit=200)}: {exc.strerror or exc};"
            " choose another, for example --state ~/.orbiter"
        ) from exc


@asynccontextmanager
async def open_for_writing() -> AsyncIterator[JournalCare]:
    """The workspace's journal to write in; made if there is none."""
    place = workspace().state
    make_state(place)
    async with await open_journal(place) as journal:
        # A process that drives the workspace has looked; else what is written now would hide what is missing.
        if holder(place) is None:
            missing = ""
            with suppress(JournalError):  # damaged elsewhere, too: what is asked for says so, if it cannot be done
                missing = await journal.look_for_loss()
            if missing:
                frozen = await journal.stand_still(missing)
                # The operator who asked for this did not know; a thaw, above all, is for those who have looked.
                raise BadInput(
                    f"the journal has lost its newest events: {missing}. This verb only froze {len(frozen)}"
                    " runs, and every run that begins later: steps that only the lost events record could be done"
                    " again. Check the runs (orbiter-console show RUN), then: orbiter-console thaw RUN, or"
                    " thaw --all",
                    code=FAILED,
                )
        yield journal


async def find_run(journal: Journal | None, name: str) -> Summary:
    """The run with this id, or whose id is the only one to begin so, or else to end so.

    Raises:
        BadInput: there is none, or there are several.
    """
    if journal is not None:
        exact = await journal.summary(name)
        if exact is not None:
            return exact
        known = await journal.runs(limit=10_000) if name else []
        begun = [each for each in known if each.id.startswith(name)]
        found = begun or [each for each in known if each.id.endswith(name)]
        if len(found) == 1:
            return found[0]
        if found:
            raise BadInput(
                f"{len(found)} runs {'begin' if begun else 'end'} with {name!r}: give more of the id"
                " (orbiter-console runs)"
            )
    raise BadInput(f"unknown run {name!r} in {workspace().state}; see: orbiter-console runs")


async def find_incident(journal: Journal | None, name: str) -> tuple[str, IncidentOpened, IncidentAnswered | None]:
    """The incident with this id, or a unique beginning of it, with its run's id and its answer.

    Raises:
        BadInput: there is none, or there are several.
    """
    try:
        found = await journal.incident(name) if journal is not None else None
    except AmbiguousId as exc:
        raise BadInput(str(exc)) from exc
    if found is None:
        raise BadInput(f"unknown incident {name!r} in {workspace().state}; see: orbiter-console incidents")
    return found


async def state_of(journal: Journal, run_id: str) -> DurableRun:
    """The run, folded from its events."""
    from runtime.record.state.durable_run import fold_events

    return fold_events(await journal.read(run_id))
