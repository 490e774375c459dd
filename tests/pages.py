"""The pages of the documentation that are made from the code: keys, commands, and the map of the source.

`python -m tests.pages` writes them; `tests/test_docs_pages.py` says when they are out of date.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

import click

from console.cli import VERBS, cli
from screens.render.key_names import DECISIONS, key_in_words
from screens.shell.key_actions import actions

ROOT: Final = Path(__file__).resolve().parent.parent
FLOORS: Final = ("orbiter", "runtime", "screens", "console", "themes")

VERB_OF: Final = {
    "home.answer_alike": "answer --like-this",
    "runs.freeze": "freeze, thaw",
    "runs.abort": "abort",
    "swarms.start": "run",
    "ledger.revoke": "revoke",
    "ledger.audit": "audit",
    "limits.reset": "breakers --reset",
    "limits.extend": "answer INCIDENT extend",
    "log.filter": "log --grep",
    "log.find": "log --grep",
    "log.faults": "log --faults",
    "log.source": "log --file",
    "log.open_run": "show",
    "log.follow": "log --follow",
    "settings.next_theme": "--theme",
    "start.start": "run",
    "run.freeze": "freeze, thaw",
    "run.abort": "abort",
    "run.rewind": "rewind",
    "run.fork": "fork",
    "run.inject": "inject",
    "run.breakpoint": "break",
    "run.waits": "waits",
    "run.find_fault": "report",
    "run.timeline": "show",
    "run.log": "log RUN",
    "app.next_decision": "incidents",
    "app.inbox": "incidents",
    "app.swarms": "runs",
    "app.permissions": "grants",
    "app.limits": "breakers, budgets",
    "app.log": "log",
    "app.settings": "config",
    "app.audit": "audit",
    "app.revive": "serve",
    "app.help": "keys",
    "decision.grant_longer": "answer INCIDENT grant --for",
}
"""What does the same on the command line; keys that only move about, copy or close have nothing to do there."""

COMMANDS: Final = """\
# Commands

What `orbiter-console --help` and the `--help` of each verb say. Without a verb the [console](console.md) opens.

Results go to stdout, everything else to stderr; with `--json` a verb prints one object per line. In a pipe there are no
colours, and nothing is cut. A run or an incident may be named by the beginning of its id, a run by its end as well. The
exit code is 0 if it is done, 1 if the run failed, 2 if the input was bad, 3 if a person is waited for; `dial-stdio`
ends with 69 where no runtime answers.

A shell completes verbs, options and ids once it is told to, for bash in `~/.bashrc`:

    eval "$(_ORBITER_CONSOLE_COMPLETE=bash_source orbiter-console)"

(for zsh `zsh_source`; for fish `_ORBITER_CONSOLE_COMPLETE=fish_source orbiter-console | source`).

<!-- made by: python -m tests.pages -->
"""

SOURCE: Final = """\
# Map of the source

What each module is for, in its own words. A floor imports only those below it: console, screens, runtime, orbiter;
inside `runtime`: link, work, judgement, record. `themes` imports none.

<!-- made by: python -m tests.pages -->"""

KEYS: Final = """\
# Keys

Every action of the [console](console.md) with its default keys. `orbiter-console keys` prints those in force,
[configuration](configuration.md) tells how to change them. The last column has what does the same on the command line.

<!-- made by: python -m tests.pages -->"""


def keys_page() -> str:
    """Every action with its default keys, and the verb that does the same."""
    lines = [KEYS]
    for place, found in groupby(actions(), key=lambda each: each.place):
        lines += ["", f"## {place}", "", "| action | keys | does | verb |", "| --- | --- | --- | --- |"]
        for each in found:
            keys = " ".join(f"`{key_in_words(key)}`" for key in each.keys)
            lines.append(f"| `{each.id}` | {keys} | {each.does.replace('|', '&#124;')} | {_verb(each.id, place)} |")
    return "\n".join(lines) + "\n"


def verb_of(action: str, place: str) -> str:
    """What does the same as an action on the command line; empty where there is nothing to do there."""
    if action not in VERB_OF and place == DECISIONS:
        return f"answer INCIDENT {action.partition('.')[2]}"
    return VERB_OF.get(action, "")


def _verb(action: str, place: str) -> str:
    found = verb_of(action, place)
    return f"`{found}`" if found else ""


def commands_page() -> str:
    """Every verb, with what its `--help` says."""
    lines = [COMMANDS, *_options(cli)]
    for name in VERBS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None, name
        told = [" ".join(each.split()) for each in (command.help or "").split("\n\n")]
        lines += ["", f"## {name}", "", f"    {_usage(name, command)}", "", *"\n\n".join(told).splitlines(), ""]
        lines += _options(command)
    return "\n".join(lines).rstrip() + "\n"


def _usage(name: str, command: click.Command) -> str:
    context = click.Context(command, info_name=f"orbiter-console {name}")
    return " ".join([context.command_path, *command.collect_usage_pieces(context)])


def _options(command: click.Command) -> list[str]:
    context = click.Context(command, info_name="orbiter-console")
    rows = [
        record
        for each in command.params
        if isinstance(each, click.Option) and (record := each.get_help_record(context)) is not None
    ]
    return ["| option | does |", "| --- | --- |", *(f"| `{_cell(name)}` | {_cell(does)} |" for name, does in rows)]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")


def source_page() -> str:
    """Every module, with the first sentence of what it says of itself."""
    lines = [SOURCE]
    for folder, modules in groupby(_modules(), key=lambda each: each[0].parent):
        lines += ["", f"## {folder.relative_to(ROOT).as_posix()}/", "", "| module | for |", "| --- | --- |"]
        lines += [f"| `{path.name}` | {told} |" for path, told in modules]
    return "\n".join(lines) + "\n"


def _modules() -> Iterator[tuple[Path, str]]:
    for floor in FLOORS:
        found = (each for each in (ROOT / floor).rglob("*.py") if each.name != "__main__.py")
        for path in sorted(found, key=lambda each: (each.parent, each.name)):
            told = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
            yield path, _first_sentence(told or "")


def _first_sentence(docstring: str) -> str:
    paragraph = " ".join(docstring.partition("\n\n")[0].split())
    end = next((at for at in range(len(paragraph)) if paragraph[at : at + 2] == ". "), len(paragraph))
    return paragraph[: end + 1].replace("``", "`").replace("|", "\\|")


PAGES: Final = {"docs/keys.md": keys_page, "docs/commands.md": commands_page, "docs/source.md": source_page}


def write() -> None:
    """Write the pages anew."""
    for name, page in PAGES.items():
        (ROOT / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write()
