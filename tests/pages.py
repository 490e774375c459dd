"""The pages of the documentation that are made from the code: keys, commands, the map of the source, and the tables of
settings and options.

`python -m tests.pages` writes them; `tests/test_docs_pages.py` says when they are out of date.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import Final

import click

from console.cli import VERBS, cli
from console.preferences.schema import CONSOLE_SETTINGS
from runtime.config.schema_keys import sections
from runtime.judgement.recovery.option_table import OPTIONS
from screens.render.key_names import DECISIONS, key_in_words
from screens.shell.key_actions import actions
from tests.import_contract import stated_imports
from tests.public_api import public_api

ROOT: Final = Path(__file__).resolve().parent.parent
FLOORS: Final = ("console", "screens", "runtime", "orbiter", "themes")
RUNTIME_LAYERS: Final[list[str]] = next(
    each["layers"]
    for each in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    if each.get("containers") == ["runtime"]
)
"""From top to bottom, as the import linter checks them."""

VERB_OF: Final = {
    "home.answer_alike": "answer --like-this",
    "home.begin_here": "init",
    "runs.freeze": "freeze, thaw",
    "runs.abort": "abort",
    "runs.compare": "diff",
    "swarms.start": "run",
    "ledger.revoke": "revoke",
    "ledger.audit": "audit",
    "limits.reset": "breakers --reset",
    "limits.extend": "answer INCIDENT extend",
    "workers.move": "move",
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
    "run.cancel": "cancel",
    "run.rewind": "rewind",
    "run.fork": "fork",
    "run.inject": "inject",
    "run.breakpoint": "break",
    "run.waits": "waits",
    "run.find_fault": "report",
    "run.timeline": "show",
    "run.log": "log RUN",
    "run.report": "export",
    "run.compare": "diff",
    "app.next_decision": "incidents",
    "app.inbox": "incidents",
    "app.swarms": "runs",
    "app.permissions": "grants",
    "app.limits": "breakers, budgets",
    "app.log": "log",
    "app.settings": "config",
    "app.audit": "audit",
    "app.workers": "workers",
    "app.revive": "serve",
    "app.help": "keys",
    "decision.grant_longer": "answer INCIDENT grant --for",
}
"""What does the same on the command line; keys that only move about, copy or close have nothing to do there."""

MARK: Final = "<!-- made by: python -m tests.pages -->"
COMMANDS: Final = """\
# Commands

What `orbiter-console --help` and the `--help` of each verb say. Without a verb the [console](console.md) opens.

Results go to stdout, everything else to stderr; with `--json` a verb prints one object per line. In a pipe there are no
colours, and nothing is cut. A run or an incident may be named by the beginning of its id, a run by its end as well. The
exit code is 0 if it is done, 1 if the run failed or the result could not be written, 2 if the input was bad (also a
path that does not exist or may not be used), 3 if a person is waited for. It is 128 and the number of the signal where
one ended it: 130 after Ctrl-C; 141 where the reader of a pipe has gone, as `head` does. `dial-stdio` ends with 69 where
no runtime answers.

A shell completes verbs, options and ids once it is told to, for bash in `~/.bashrc`:

    eval "$(_ORBITER_CONSOLE_COMPLETE=bash_source orbiter-console)"

(for zsh `zsh_source`; for fish `_ORBITER_CONSOLE_COMPLETE=fish_source orbiter-console | source`).

<!-- made by: python -m tests.pages -->
"""

SOURCE: Final = """\
# Map of the source

A package imports only packages below it: `console` → `screens` → `runtime` → `orbiter`. `themes` imports none of ours.

What a run does goes up. A model or tool call is a step (`orbiter/steps.py`). `runtime/execution` carries it out and
writes events; `runtime/record` stores them and folds them into state; `runtime/link` sends them to consoles;
`screens/views` turns state into lines, and `screens/widgets` paints them. What an operator decides goes down. A key
(`screens`) or a verb (`console/verbs`) sends a command; `runtime/operations` writes it as an event;
`runtime/execution` acts on it.

Search this page for a word of the field: lease, bell, arming, snapshot, retry, export. For frequent changes
`CONTRIBUTING.md` names the file and the constant.

<!-- made by: python -m tests.pages -->

## Packages

From top to bottom. "Imports" says which packages of ours a package, with all that is in it, may import. The exact list
stands in its section below, and `make lint` checks it.
"""

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


def recovery_page() -> str:
    """The page as it is, with its table of options made from theirs."""
    before, mark, rest = (ROOT / "docs/recovery.md").read_text(encoding="utf-8").partition(f"{MARK}\n\n")
    if not mark:
        raise ValueError(f"docs/recovery.md: the table of options needs the line {MARK} above it")
    return before + mark + options_table() + "\n\n" + rest.partition("\n\n")[2]


def options_table() -> str:
    """A row for each option: its label and default key, the flags it takes, what it does."""
    lines = ["| option | label | key | takes | what it does |", "| --- | --- | --- | --- | --- |"]
    for spec in OPTIONS.values():
        flags = [f"`--{param.name}`" for param in spec.params]
        flags += ["`--file`"] if spec.param("value") is not None else []
        flags += ["`--reach`"] if len(spec.reaches) > 1 else []
        lines.append(f"| `{spec.id}` | {spec.label} | `{spec.key}` | {', '.join(flags)} | {spec.does} |")
    return "\n".join(lines)


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
        for each in command.get_params(context)
        if isinstance(each, click.Option)
        and "--help" not in each.opts
        and (record := each.get_help_record(context)) is not None
    ]
    # click keeps the option of the first context that asked a command for it: here or in a test, by another name.
    rows.append(("-h, --help", "Show this message and exit."))
    return ["| option | does |", "| --- | --- |", *(f"| `{_cell(name)}` | {_cell(does)} |" for name, does in rows)]


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")


def configuration_page() -> str:
    """The page as it is, with each section's table of settings made from the schema."""
    page = (ROOT / "docs/configuration.md").read_text(encoding="utf-8")
    for name, table in settings_tables().items():
        dotted = re.escape(name).replace(r"\.", r"(?:\.NAME)?\.")
        heading = rf"^## `\[+{dotted}[\]\.](?:(?!^## ).)*?^{re.escape(MARK)}\n\n"
        found = re.compile(rf"(?P<before>{heading})(?:\|[^\n]*\n)*\n*", re.MULTILINE | re.DOTALL)
        page, count = found.subn(lambda each, table=table: f"{each['before']}{table}\n\n", page, count=1)  # type: ignore[misc]
        if not count:
            raise ValueError(f"docs/configuration.md: [{name}] needs a heading and below it the line {MARK}")
    return page.rstrip("\n") + "\n"


def settings_tables() -> dict[str, str]:
    """The table of each section of `orbiter.toml`, by the section's name."""
    tables: dict[str, str] = {}
    for name, shape, model in sections():
        if name == "errors.rules":
            continue
        rows = [
            (key, "needed" if each.is_required() else _default_cell(each.get_default(call_default_factory=True)),
             each.description or "")
            for key, each in model.model_fields.items()
        ]  # fmt: skip
        tables[name] = _settings_table(rows, defaults=shape != "list")
    console = [(each.name, _default_cell(each.default, empty='`""`'), each.meaning) for each in CONSOLE_SETTINGS]
    return {**tables, "console": _settings_table(console, defaults=True)}


def _default_cell(value: object, empty: str = "") -> str:
    """A default as it would be written in the file."""
    if value is None or value == "":
        return empty
    if isinstance(value, float):
        return f"`{value:g}`"
    return f"`{json.dumps(value)}`"


def _settings_table(rows: list[tuple[str, str, str]], *, defaults: bool) -> str:
    head = "| key | default | meaning |\n|---|---|---|" if defaults else "| key | meaning |\n|---|---|"
    lines = (
        f"| `{key}` | {default} | {meaning} |" if defaults else f"| `{key}` | {meaning} |"
        for key, default, meaning in rows
    )
    return "\n".join((head, *lines)).replace("|  |", "| |")


def source_page() -> str:
    """The tree of packages, then each package's docstring and the first sentence of each of its modules."""
    packages = [each for floor in FLOORS for each in _packages(ROOT / floor)]
    stated = stated_imports(ROOT)
    lines = [SOURCE, *(_tree_line(each, stated) for each in packages)]
    for each in packages:
        lines += ["", f"## {_shown(each)}", "", _docstring(each / "__init__.py")]
        modules = [path for path in sorted(each.glob("*.py")) if path.name not in {"__init__.py", "__main__.py"}]
        if modules:
            lines += ["", "| module | for |", "| --- | --- |"]
            lines += [f"| `{path.name}` | {_first_sentence(path).replace('|', '&#124;')} |" for path in modules]
    return "\n".join(lines) + "\n"


def _packages(folder: Path) -> Iterator[Path]:
    """A package and those in it: `runtime` from top to bottom as its contract has it, any other by name."""
    yield folder
    for each in sorted((path.parent for path in folder.glob("*/__init__.py")), key=_height):
        yield from _packages(each)


def _height(folder: Path) -> tuple[int, str]:
    layers = RUNTIME_LAYERS if folder.parent.name == "runtime" else []
    return next((at for at, layer in enumerate(layers) if folder.name in layer), 0), folder.name


def _tree_line(folder: Path, stated: dict[str, frozenset[str]]) -> str:
    shown = _shown(folder)
    indent = "  " * (shown.count("/") - 1)
    anchor = shown.replace("/", "").lower()
    line = f"{indent}- [`{folder.name}/`](#{anchor}) {_first_sentence(folder / '__init__.py')}"
    imports = _imported_packages(".".join(folder.relative_to(ROOT).parts), stated)
    return f"{line} Imports {imports}." if imports else line


def _imported_packages(package: str, stated: dict[str, frozenset[str]]) -> str:
    """Packages of ours that a package and those below it may import, two names deep, without itself."""
    below = (names for name, names in stated.items() if f"{name}.".startswith(f"{package}."))
    found: dict[str, set[str]] = {}
    for name in chain(*below):
        if name.partition(".")[0] in FLOORS and not f"{name}.".startswith(f"{package}."):
            floor, _, rest = name.partition(".")
            found.setdefault(floor, set()).update({rest.partition(".")[0]} - {""} if floor != "orbiter" else ())
    within = ((floor, ", ".join(sorted(names)).replace("*", "all of it")) for floor, names in sorted(found.items()))
    return "; ".join(f"{floor} ({names})" if names else floor for floor, names in within)


def _shown(folder: Path) -> str:
    return f"{folder.relative_to(ROOT).as_posix()}/"


def _docstring(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").replace("``", "`")


def _first_sentence(path: Path) -> str:
    paragraph = " ".join(_docstring(path).partition("\n\n")[0].split())
    end = next((at for at in range(len(paragraph)) if paragraph[at : at + 2] == ". "), len(paragraph))
    return paragraph[: end + 1]


PAGES: Final = {
    "docs/keys.md": keys_page,
    "docs/commands.md": commands_page,
    "docs/source.md": source_page,
    "docs/configuration.md": configuration_page,
    "docs/recovery.md": recovery_page,
    "tests/orbiter/public_api.txt": public_api,
}


def write() -> None:
    """Write the pages."""
    for name, page in PAGES.items():
        (ROOT / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write()
