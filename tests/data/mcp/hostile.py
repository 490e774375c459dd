"""A server of the era of handshakes that says what no server should. Each tool is named after what its call says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
TEXT = {"type": "text", "text": "fine"}


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def reply(number: int, **said: Any) -> None:
    say(json.dumps({"jsonrpc": "2.0", "id": number, **said}))


def answer(number: int, *content: Any) -> None:
    reply(number, result={"content": list(content)})


def garbage(number: int) -> None:
    for line in ("reading a file ...", "\x00", "[]", "{}", "null", "[" * 5_000, '{"jsonrpc": "2.0"}'):
        say(line)
    answer(number, TEXT)


def progress(number: int) -> None:
    values: list[Any] = ["x", None, [], float("nan")]
    for value in values:
        params = {"progressToken": number, "progress": value}
        say(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": params}))
    answer(number, TEXT)


def other_id(number: int) -> None:
    answer(number + 1_000, {"type": "text", "text": "of another"})
    answer(number, TEXT)


def half_a_character(number: int) -> None:
    text = r'{"type": "text", "text": "cut \ud83d, whole \ud83d\ude00"}'
    say(f'{{"jsonrpc": "2.0", "id": {number}, "result": {{"content": [{text}]}}}}')


def nested(number: int) -> None:
    deep = '{"a":' * 20_000 + "1" + "}" * 20_000
    say(f'{{"jsonrpc": "2.0", "id": {number}, "result": {{"content": [], "structuredContent": {deep}}}}}')


SLOW_SCHEMA = {"type": "object", "properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
"""A pattern that takes a backtracking matcher for ever, where the text fits almost."""


def slow_pattern(number: int) -> None:
    reply(number, result={"content": [TEXT], "structuredContent": {"a": "a" * 60 + "b"}})


CALLS: dict[str, Callable[[int], None]] = {
    "garbage": garbage,
    "progress": progress,
    "other_id": other_id,
    "half_a_character": half_a_character,
    "many_parts": lambda number: answer(number, *[TEXT] * 100_000),
    "bad_image": lambda number: answer(number, {"type": "image", "data": "?", "mimeType": "image/png"}),
    "nested": nested,
    "null": lambda number: reply(number, result=None),
    "odd_error": lambda number: reply(number, error={"code": "x", "message": 5}),
    "invalid": lambda number: answer(number, {"type": "zebra"}),
    "own_error": lambda number: reply(number, error={"code": -32000, "message": "\x1b[2Jbusy"}),
    "slow_pattern": slow_pattern,
    "gone": lambda number: sys.exit(1),
}
NAMES = [
    *CALLS,
    "read.file",
    "read_file",
    "read_file",
    "a/b",
    "\x1b[2J",
    "",
    *(f"t{number}" for number in range(5_000)),
]


def serve(broken: str) -> None:
    """`broken`: what is wrong with the list of tools."""
    for line in sys.stdin:
        asked = json.loads(line)
        number, method = asked.get("id"), asked.get("method")
        if number is None:
            continue
        if method == "initialize":
            version = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "hostile", "version": "1"}}
            reply(number, result={**version, "capabilities": {"tools": {}}})
        elif method == "tools/list" and broken == "error":
            reply(number, error={"code": -32603, "message": "\x1b[2Jno"})
        elif method == "tools/list" and broken == "nested":
            nested(number)
        elif method == "tools/list":
            schema = [1] if broken == "schema" else SCHEMA
            tools: list[dict[str, Any]] = [{"name": each, "inputSchema": schema} for each in NAMES]
            tools[NAMES.index("slow_pattern")]["outputSchema"] = SLOW_SCHEMA
            reply(number, result={"tools": tools})
        elif method == "tools/call":
            CALLS[asked["params"]["name"]](number)
        else:
            reply(number, error={"code": -32601, "message": "unknown"})


if __name__ == "__main__":
    serve(sys.argv[1])
