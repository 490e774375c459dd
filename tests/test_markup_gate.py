"""No string reaches a widget as markup, and nothing prints past the gate: checked on the source of console and screens.

What can be checked without types: text that is put together on the spot (f-strings, concatenation, `str(…)`) is not
handed to anything that parses markup; markup is never switched on; ANSI is never interpreted; Markdown opens no links;
Rich consoles are made without markup; and only `console/output.py` prints.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*(ROOT / "screens").rglob("*.py"), *(ROOT / "console").rglob("*.py")])

PARSES_MARKUP = {
    "Static", "Label", "Button", "Option", "Checkbox", "RadioButton", "Collapsible", "TabPane", "Tab", "Selection",
    "notify", "add_leaf", "add_row", "add_column", "update_cell", "set_label", "add_option", "Tooltip",
}  # fmt: skip
MARKUP_ATTRIBUTES = {"border_title", "border_subtitle", "tooltip"}
BUILDS_TEXT = {"str", "repr", "format", "join", "replace", "strip", "ljust", "rjust"}
MAY_PRINT = {"console/output.py"}


def name_of(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def keyword(call: ast.Call, name: str) -> object:
    for item in call.keywords:
        if item.arg == name and isinstance(item.value, ast.Constant):
            return item.value.value
    return None


def is_built_on_the_spot(value: ast.expr) -> bool:
    if isinstance(value, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in value.values)
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, ast.Add | ast.Mod)
    if isinstance(value, ast.IfExp):
        return is_built_on_the_spot(value.body) or is_built_on_the_spot(value.orelse)
    return isinstance(value, ast.Call) and name_of(value) in BUILDS_TEXT


def violations(tree: ast.AST, path: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield from (f"{path}:{node.lineno}: {what}" for what in wrong_with_call(node, path))
        elif isinstance(node, ast.Assign) and is_built_on_the_spot(node.value):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and target.attr in MARKUP_ATTRIBUTES:
                    yield f"{path}:{node.lineno}: {target.attr} is markup; assign a Content"


def is_of_click(call: ast.Call) -> bool:
    """Whether it is `click.Option`, which prints plain text and shares its name with an entry of Textual's lists."""
    return (
        isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name) and call.func.value.id == "click"
    )


def wrong_with_call(call: ast.Call, path: str) -> Iterator[str]:
    name = name_of(call)
    arguments = [*call.args, *(item.value for item in call.keywords)]
    parses = name in PARSES_MARKUP and not is_of_click(call)
    if parses and keyword(call, "markup") is not False and any(map(is_built_on_the_spot, arguments)):
        yield f"{name}(…) parses a string as markup; hand over Content or Text, or markup=False"
    if name == "from_markup" and not (call.args and isinstance(call.args[0], ast.Constant)):
        yield "from_markup takes a literal only, values go in by keyword"
    if keyword(call, "markup") is True:
        yield "markup is never switched on"
    if name in {"from_ansi", "AnsiDecoder"} and ast.unparse(call.func) != "PaintedColor.from_ansi":  # of a number
        yield "ANSI in foreign text is shown, not obeyed"
    if name == "Markdown" and keyword(call, "open_links") is not False:
        yield "Markdown opens links on the machine that runs us; open_links=False"
    if name == "Console" and keyword(call, "markup") is not False:
        yield "a Rich console is made with markup=False"
    prints = name == "print" and isinstance(call.func, ast.Name)
    if (prints or name in {"echo", "secho"}) and path not in MAY_PRINT:
        yield f"{name}(…) goes past the gate; use console.output"


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_foreign_text_cannot_become_markup(source: Path) -> None:
    path = source.relative_to(ROOT).as_posix()
    assert list(violations(ast.parse(source.read_text(encoding="utf-8")), path)) == []


@pytest.mark.parametrize(
    "wrong",
    [
        "Static(f'{name} failed')",
        "Label('x' + name)",
        "self.notify(str(error))",
        "self.app.notify(f'{error}', title='x')",
        "tree.root.add_leaf(f'{node}')",
        "self.border_title = f'run {run}'",
        "table.add_row('%s' % name)",
        "Static(f'{a}' if a else '')",
        "Content.from_markup(f'[b]{name}')",
        "Text.from_markup(text)",
        "RichLog(markup=True)",
        "Text.from_ansi(output)",
        "Markdown(report)",
        "Console()",
        "print(reply)",
        "click.echo(reply)",
    ],
)
def test_the_check_finds(wrong: str) -> None:
    assert len(list(violations(ast.parse(wrong), "screens/x.py"))) == 1


@pytest.mark.parametrize(
    "right",
    [
        "Static('a fixed label')",
        "Static(Content(f'{name} failed'))",
        "self.notify(f'{sanitize_line(error)}', markup=False)",
        "Content.from_markup('[b]$name', name=name)",
        "self.border_title = Content(title)",
        "Markdown(report, open_links=False)",
        "Console(markup=False, emoji=False)",
        "Static(f'literal')",
    ],
)
def test_the_check_leaves_alone(right: str) -> None:
    assert list(violations(ast.parse(right), "screens/x.py")) == []
