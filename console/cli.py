"""`orbiter-console`: the verbs, each loaded only when it is called.

Exit codes: 0 done, 1 the run failed, 2 bad input, 3 waiting for a person. This module imports nothing heavy:
`dial-stdio`, which a remote console starts for every connection, must be there at once.
"""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from console.closed_streams import open_closed_streams
from console.state_option import check_state

VERBS: dict[str, tuple[str, str]] = {
    "demo": (
        "console.verbs.runs.demo:demo",
        "Run a real swarm over this directory. Four faults happen; you decide what to do.",
    ),
    "init": ("console.verbs.program.init:init", "Set up this directory: settings, an example, keys."),
    "run": ("console.verbs.runs.run:run", "Run a swarm: path/to/file.py:name or package.module:name."),
    "drill": ("console.verbs.runs.drill:drill", "Write a file of faults for `run --drill`."),
    "runs": ("console.verbs.runs.runs:runs", "List the runs of this workspace, newest first."),
    "show": ("console.verbs.runs.runs:show", "Show one run: its tree and its incidents."),
    "diff": ("console.verbs.runs.diff:diff", "Show the steps in which two runs differ."),
    "waits": ("console.verbs.runs.waits:waits", "Show what a run waits for, down to the cause."),
    "incidents": ("console.verbs.decisions.incidents:incidents", "List what waits for a person."),
    "answer": ("console.verbs.decisions.answer:answer", "Answer an incident."),
    "report": ("console.verbs.decisions.incidents:report", "Show the report of an incident."),
    "abort": ("console.verbs.runs.runs:abort", "End a run now."),
    "freeze": ("console.verbs.runs.controls:freeze", "Stop new steps from starting, in one run or in many."),
    "thaw": ("console.verbs.runs.controls:thaw", "Let frozen runs continue."),
    "rewind": ("console.verbs.runs.controls:rewind", "Rewind a run to a node, which then runs again."),
    "fork": ("console.verbs.runs.controls:fork", "Start a new run with the completed steps of another."),
    "cancel": ("console.verbs.runs.controls:cancel", "Cancel one tool call that is under way."),
    "inject": ("console.verbs.runs.controls:inject", "Send a message to an agent of a run."),
    "break": ("console.verbs.runs.controls:breakpoint_", "Make a run wait before a tool or an agent."),
    "grants": (
        "console.verbs.decisions.grants:grants",
        "List permissions that were granted, and how often each was used.",
    ),
    "revoke": ("console.verbs.decisions.grants:revoke", "Revoke permissions."),
    "audit": ("console.verbs.decisions.audit:audit", "Show who decided what, when, and why."),
    "digest": ("console.verbs.decisions.audit:digest", "Show what happened since you last looked."),
    "export": ("console.verbs.runs.export:export", "Write a run or an incident to a redacted file."),
    "replay": ("console.verbs.runs.export:replay", "Open an export in the console, read-only."),
    "prune": ("console.verbs.runs.prune:prune", "Delete finished runs, by age and by size."),
    "classify": ("console.verbs.program.classify:classify", "Show how errors would be classified (JSON lines)."),
    "breakers": ("console.verbs.decisions.breakers:breakers", "List circuit breakers, and reset one."),
    "budgets": ("console.verbs.decisions.breakers:budgets", "Show how much of their budgets runs have used."),
    "metrics": ("console.verbs.program.metrics:metrics", "Print metrics for Prometheus, or serve them."),
    "log": ("console.verbs.program.log:log", "Show what happened, in all runs or in one."),
    "config": ("console.verbs.program.config:config", "Show what is configured, and where it comes from."),
    "serve": (
        "console.verbs.program.serve:serve",
        "Start this workspace's runtime: it drives runs and serves consoles.",
    ),
    "stop": ("console.verbs.program.serve:stop", "Stop this workspace's runtime; its runs are kept."),
    "worker": ("console.verbs.program.workers:worker", "Drive runs of a workspace on Postgres, until stopped."),
    "workers": ("console.verbs.program.workers:workers", "List workers, and runs that no worker can drive."),
    "move": ("console.verbs.program.workers:move", "Let a run continue with code of another label."),
    "dial-stdio": (
        "console.verbs.program.dial_stdio:dial_stdio",
        "Connect stdin and stdout to this workspace's runtime (for ssh).",
    ),
    "themes": (
        "console.verbs.program.themes_keys:themes",
        "List the themes that --theme and $ORBITER_THEME can choose.",
    ),
    "keys": ("console.verbs.program.themes_keys:keys", "List the console's actions and the keys that do them."),
    "mcp": ("console.verbs.program.serve_mcp:mcp", "Run an MCP server on stdin and stdout, for agents that ask."),
    "mcp-approve": (
        "console.verbs.program.mcp_approval:mcp_approve",
        "Approve an MCP server of this workspace.",
    ),
    "mcp-login": ("console.verbs.program.mcp_approval:mcp_login", "Log in to an MCP server."),
    "database": (
        "console.verbs.program.database:database",
        "Make a workspace on Postgres; import, export.",
    ),
    "doctor": ("console.verbs.program.doctor:doctor", "Check this installation and this workspace."),
}


class Verbs(click.Group):
    """The table above as a click group."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        module, _, attribute = VERBS[cmd_name][0].partition(":")
        found: click.Command = getattr(import_module(module), attribute)
        collect_again()
        return found

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(_no_verb(args[0]))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:  # click says "Aborted!", and ends as a run that failed does
            from console.output import print_note

            print_note("interrupted")
            ctx.exit(128 + signal.SIGINT)
        except click.ClickException as exc:  # click repeats what was typed as it is, escape sequences and all
            from console.output import supports_unicode
            from screens.render.sanitize import sanitize_line

            plain = not supports_unicode(sys.stderr)
            exc.message = sanitize_line(exc.message, limit=2_000, ascii_only=plain)  # type: ignore[misc]  # click gives no hook
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, help_text) for name, (_, help_text) in VERBS.items()])


@click.group(cls=Verbs, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--state", metavar="DIR", help="Where the workspace keeps its state (default: .orbiter).")
@click.option("--workspace", metavar="ADDRESS", help="postgres://host/db?workspace=name (default: $ORBITER_WORKSPACE).")
@click.option("--embedded", is_flag=True, help="Without a verb: keep the runtime inside the console's process.")
@click.option("--host", "hosts", multiple=True, metavar="HOST", help="[user@]host[:path], or a name in orbiter.toml.")
@click.option("--viewer", is_flag=True, help="With --host: look only, without acts.")
@click.option("--start", is_flag=True, help="With --host: start a runtime there if none works.")
@click.option("--mouse/--no-mouse", default=None, help="Without a verb: the mouse (default: not over SSH, in tmux).")
@click.option(
    "--theme",
    metavar="NAME",
    shell_complete=lambda *asked: import_module("console.verbs.completion").complete_theme(*asked),
    help="Without a verb: the theme (default: $ORBITER_THEME; see `themes`).",
)
@click.option("--linear", is_flag=True, help="Without a verb: plain lines, for a screen reader (also with TERM=dumb).")
@click.option("--ascii", "plain", is_flag=True, help="Show ASCII characters only (or: $ORBITER_ASCII).")
@click.version_option(package_name="orbiter-console", prog_name="orbiter-console")
@click.pass_context
def cli(
    ctx: click.Context,
    /,
    state: str | None,
    workspace: str | None,
    *,
    plain: bool,
    mouse: bool | None,
    **console: Any,
) -> None:
    """Run swarms of agents durably, and decide what happens when one of them fails.

    Without a verb, open the console on the current directory, or on those of other machines (--host, several times).
    """
    _check_directory()
    if state is not None:
        os.environ["ORBITER_STATE"] = os.path.abspath(state)  # noqa: PTH100 - pathlib costs start-up time
    if workspace is not None:
        os.environ["ORBITER_WORKSPACE"] = workspace
    if os.environ.get("ORBITER_WORKSPACE"):
        _check_workspace()
    elif not console["hosts"] and ctx.invoked_subcommand != "doctor":
        check_state(os.environ.get("ORBITER_STATE") or ".orbiter")
    if plain:
        os.environ["ORBITER_ASCII"] = "1"
    if ctx.invoked_subcommand is None:
        from console.verbs.program.open_console import open_for_terminal

        collect_again()
        ctx.exit(open_for_terminal(mouse=mouse, **console))
    given = [f"--{name.removesuffix('s')}" for name, value in console.items() if value]
    given += ["--mouse"] if mouse is not None else []
    if given:
        raise click.UsageError(_not_for_verb(ctx, given))


def _not_for_verb(ctx: click.Context, given: list[str]) -> str:
    verb = ctx.invoked_subcommand or ""
    command = cli.get_command(ctx, verb)
    taken = [option for each in command.params for option in each.opts if option in given] if command else []
    hint = f"; write it after the verb: {verb} {' '.join(taken)}" if taken else ""
    return f"for the console, not for {verb}: {', '.join(given)}{hint}"


def _no_verb(name: str) -> str:
    from orbiter.parsing.near_names import near_names  # only where a verb was mistyped
    from screens.base.screen_registry import SCREENS

    # What the console calls its places: there it is the inbox that lists incidents.
    same = [verb for place in SCREENS.values() if name in (place.name, *place.aliases) for verb in place.aliases]
    near = [verb for verb in same if verb in VERBS]
    near = near or [verb for verb in VERBS if verb.startswith(name)] or near_names(name, VERBS, most=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "--help lists them"
    return f"unknown verb {name!r}: {hint}"


def _check_directory() -> None:
    try:
        os.getcwd()  # noqa: PTH109 - pathlib costs start-up time
    except FileNotFoundError as exc:
        raise click.UsageError("the current directory was deleted: change to one that exists (cd)") from exc


def _check_workspace() -> None:
    from console.workspace import workspace
    from runtime.record.journal import JournalError

    try:
        workspace()
    except JournalError as exc:
        raise click.UsageError(str(exc)) from exc


def collect_again() -> None:
    """What is imported stays as long as the process: the garbage collector, which `main` turned off, need not look
    through it.
    """
    if not gc.isenabled():
        gc.freeze()
        gc.enable()


def main() -> None:
    """The console script."""
    open_closed_streams()  # before any file is opened
    gc.disable()  # until a verb's modules are there: else a fifth of their time is a search for garbage among them
    try:
        cli()
    except SystemExit as exc:
        if threading.active_count() > 1:
            from console.exit_limit import limit_exit

            limit_exit(exc.code if isinstance(exc.code, int) else int(exc.code is not None))
        raise
    except OSError as exc:  # of click's own output, as of --help; a verb has told of its own
        if exc.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        with suppress(OSError):  # as full, where both are one
            os.write(2, f"standard output: {exc.strerror}\n".encode())
        sys.exit(1)


if __name__ == "__main__":
    main()
