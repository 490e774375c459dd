"""A workflow with a parallel stage: one agent outlines a Python file, two judge it side by side, one sums up.

    orbiter-console run examples/review.py:swarm examples/review.py

It runs without a key, on the scripts below. ORBITER_MODEL=openai:gpt-5-mini (or anthropic:…) puts the same agents on a
real model; nothing else changes.
"""

from __future__ import annotations

import ast
import os
from pathlib import Path
from typing import Any

from orbiter import Agent, Swarm, tool
from orbiter.models.scripted.provider import (
    Call,
    Reply,
    Turn,
    script,
)
from orbiter.types import Message, ToolResult, UserMessage, content_text

# --- tools: plain functions; they touch nothing, so a runtime may call them again after a crash ----------------------


def _functions(path: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@tool(idempotent=True)
def outline(path: str) -> list[str]:
    """List the functions of a Python file, each with its line.

    Args:
        path: The file.
    """
    return [f"{node.name}, line {node.lineno}" for node in _functions(path)]


@tool(idempotent=True)
def long_functions(path: str, most: int = 25) -> list[str]:
    """List the functions of a Python file that are too long.

    Args:
        path: The file.
        most: How many lines are not too long yet.
    """
    lengths = {node.name: (node.end_lineno or node.lineno) - node.lineno + 1 for node in _functions(path)}
    return [f"{name}: {length} lines" for name, length in lengths.items() if length > most]


@tool(idempotent=True)
def undocumented(path: str) -> list[str]:
    """List the public functions of a Python file that have no docstring.

    Args:
        path: The file.
    """
    return [node.name for node in _functions(path) if not node.name.startswith("_") and not ast.get_docstring(node)]


# --- what a model would say, for working offline: a function of the conversation ------------------------------------


def _asked(messages: list[Message]) -> str:
    return next(content_text(each.content) for each in reversed(messages) if isinstance(each, UserMessage))


def _found(messages: list[Message]) -> str:
    last = messages[-1]
    return (last.error or content_text(last.content)) if isinstance(last, ToolResult) else ""


@script("review-reader")
def reader(messages: list[Message], tools: list[dict[str, Any]]) -> Turn:
    path = _asked(messages).strip()
    if not _found(messages):
        return Reply(calls=[Call("outline", {"path": path})])
    return f"{path}\n{_found(messages)}"


@script("review-surgeon")
def surgeon(messages: list[Message], tools: list[dict[str, Any]]) -> Turn:
    if not _found(messages):
        return Reply(calls=[Call("long_functions", {"path": _asked(messages).splitlines()[0]})])
    return f"Too long: {_found(messages)}"


@script("review-librarian")
def librarian(messages: list[Message], tools: list[dict[str, Any]]) -> Turn:
    if not _found(messages):
        return Reply(calls=[Call("undocumented", {"path": _asked(messages).splitlines()[0]})])
    return f"Without a docstring: {_found(messages)}"


@script("review-chair")
def chair(messages: list[Message], tools: list[dict[str, Any]]) -> Turn:
    return f"The review:\n{_asked(messages)}"


# --- the swarm --------------------------------------------------------------------------------------------------------


def _model(name: str) -> str:
    return os.environ.get("ORBITER_MODEL") or f"scripted:review-{name}"


swarm = Swarm(
    agents=[
        Agent(
            name="reader",
            model=_model("reader"),
            instructions="You get the path of a Python file. Outline it. Answer with the path on the first line, "
            "then the functions.",
            tools=[outline],
        ),
        Agent(
            name="surgeon",
            model=_model("surgeon"),
            instructions="The first line you get is a path. Say which functions are too long, and where to cut them.",
            tools=[long_functions],
        ),
        Agent(
            name="librarian",
            model=_model("librarian"),
            instructions="The first line you get is a path. Say which public functions lack a docstring.",
            tools=[undocumented],
        ),
        Agent(
            name="chair",
            model=_model("chair"),
            instructions="Join the reviews that you get to three sentences, the most urgent first.",
        ),
    ],
    flow="reader >> (surgeon | librarian) >> chair",
)
