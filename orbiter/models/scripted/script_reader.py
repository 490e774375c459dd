"""Reads scripts from YAML nodes, which know their lines: a mistake names file, line and the nearest key."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Literal, get_args

import yaml

from orbiter.models.scripted.replies import (
    Call,
    Fault,
    FaultKind,
    Reply,
    Script,
    ScriptedTurn,
    Turn,
)
from orbiter.models.types import FinishReason, ModelError
from orbiter.parsing.near_names import did_you_mean
from orbiter.parsing.nesting import NestedTooDeeply
from orbiter.parsing.yaml_nodes import NodeLoader
from orbiter.types import Usage

_REPLY = ("reply", "call", "arguments", "id", "calls", "reasoning", "finish_reason", "usage", "delay", "pace")
_FAULT = ("status", "headers", "body", "message", "type", "code", "kind", "text", "after", "seconds")
_SCRIPT = ("turns", "since", "repeat")
_ENTRY = (*_REPLY, "fault", "attempts")


class ScriptReader:
    """Walks the YAML nodes, which know their lines, and builds turns from them."""

    def __init__(self, text: str, where: str) -> None:
        self._where = where
        try:
            self._loader = NodeLoader(text)
            self._root = self._loader.get_single_node()
        except yaml.MarkedYAMLError as exc:
            line = exc.problem_mark.line + 1 if exc.problem_mark else 1
            raise self._error(line, f"not valid YAML: {exc.problem or exc.context}") from exc
        except yaml.YAMLError as exc:
            raise self._error(1, f"not valid YAML: {exc}") from exc
        except NestedTooDeeply as exc:
            raise self._error(1, str(exc)) from exc

    def _error(self, at: yaml.Node | int, text: str, hint: str = "") -> ModelError:
        line = at if isinstance(at, int) else at.start_mark.line + 1
        return ModelError(
            f"{self._where}:{line}: {text}",
            provider="scripted",
            model=self._where,
            code="invalid_script",
            type="configuration_error",
            where="client",
            hint=hint or "The form of a script is described in docs/models.md.",
        )

    def _value(self, node: yaml.Node, kind: type[Any] | tuple[type[Any], ...], words: str) -> Any:
        try:
            value = self._loader.construct_object(node, deep=True)
        except (yaml.YAMLError, ValueError, TypeError) as exc:
            raise self._error(node, f"{words} expected: {exc}") from exc
        except RecursionError as exc:
            raise self._error(node, f"{words} expected, and this is nested too deeply") from exc
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self._error(node, f"{words} expected, not {value!r}")
        return value

    def _mapping(self, node: yaml.Node, known: tuple[str, ...] | None, what: str) -> dict[str, yaml.Node]:
        """The entries of a mapping by key, each key known and given once."""
        if not isinstance(node, yaml.MappingNode):
            raise self._error(node, f"{what} must be a mapping")
        found: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = str(self._value(key_node, (str, int, float), f"a key of {what}"))
            if key in found:
                raise self._error(key_node, f"'{key}' is given twice in {what}")
            if known is not None and key not in known:
                hint = did_you_mean(key, known, sentence=True)
                raise self._error(key_node, f"unknown key '{key}' in {what}", f"{hint}Known: {', '.join(known)}")
            found[key] = value
        return found

    def _items(self, node: yaml.Node, what: str) -> list[yaml.Node]:
        if not isinstance(node, yaml.SequenceNode):
            raise self._error(node, f"{what} must be a list")
        return list(node.value)

    def _word(self, node: yaml.Node, words: tuple[str, ...], what: str) -> Any:
        value = self._value(node, str, f"{what} ({', '.join(words)})")
        if value not in words:
            hint = did_you_mean(value, words, sentence=True)
            raise self._error(node, f"unknown {what} '{value}'", f"{hint}Known: {', '.join(words)}")
        return value

    def scripts(self) -> dict[str, Script]:
        if self._root is None:
            raise self._error(1, "the file is empty")
        if isinstance(self._root, yaml.MappingNode):
            found = self._mapping(self._root, (*_SCRIPT, "scripts"), "the file")
            if "scripts" in found:
                if len(found) > 1:
                    raise self._error(self._root, "'scripts' stands alone: turns, since and repeat go into each script")
                parts = self._mapping(found["scripts"], None, "'scripts'")
                if not parts:
                    raise self._error(found["scripts"], "'scripts' must not be empty")
                return {name: self._script(node, f"{self._where}#{name}") for name, node in parts.items()}
        return {"": self._script(self._root, self._where)}

    def _script(self, node: yaml.Node, name: str) -> Script:
        if isinstance(node, yaml.SequenceNode):
            return Script(self._turns(node), name=name)
        found = self._mapping(node, _SCRIPT, "a script")
        if "turns" not in found:
            raise self._error(node, "a script needs 'turns'")
        since: Literal["start", "question"] = "start"
        if "since" in found:
            since = self._word(found["since"], ("start", "question"), "since")
        repeat = self._value(found["repeat"], bool, "repeat: true or false") if "repeat" in found else False
        return Script(self._turns(found["turns"]), name=name, since=since, repeat=repeat)

    def _turns(self, node: yaml.Node) -> list[Turn]:
        turns = [self._turn(each) for each in self._items(node, "turns")]
        if not turns:
            raise self._error(node, "turns must not be empty")
        return turns

    def _turn(self, node: yaml.Node) -> Turn:
        attempts = node
        if isinstance(node, yaml.MappingNode):
            found = self._mapping(node, _ENTRY, "a turn")
            if "attempts" not in found:
                return self._said(node)
            if len(found) > 1:
                raise self._error(node, "'attempts' stands alone in its turn")
            attempts = found["attempts"]
        if not isinstance(attempts, yaml.SequenceNode):
            return self._said(node)
        said = [self._said(each) for each in self._items(attempts, "attempts")]
        if not said:
            raise self._error(attempts, "attempts must not be empty")
        return said

    def _said(self, node: yaml.Node) -> ScriptedTurn:
        if isinstance(node, yaml.ScalarNode):
            return Reply(str(self._value(node, (str, int, float), "a reply's text")))
        found = self._mapping(node, _ENTRY, "a turn")
        if "attempts" in found:
            raise self._error(found["attempts"], "'attempts' cannot stand inside 'attempts'")
        if "fault" in found:
            if len(found) > 1:
                raise self._error(node, "'fault' stands alone: a turn is a reply or a fault")
            return self._fault(found["fault"])
        return self._reply(node, found)

    def _reply(self, node: yaml.Node, found: dict[str, yaml.Node]) -> Reply:
        if not found.keys() & {"reply", "call", "calls", "reasoning"}:
            raise self._error(node, "a turn needs 'reply', 'call', 'calls' or 'fault'")
        if "call" in found and "calls" in found:
            raise self._error(node, "a turn has 'call' or 'calls', not both")
        calls: list[Call] = []
        if "call" in found:
            calls = [self._call(found["call"], found)]
        elif found.keys() & {"arguments", "id"}:
            raise self._error(node, "'arguments' and 'id' need a 'call'")
        elif "calls" in found:
            for each in self._items(found["calls"], "calls"):
                entry = self._mapping(each, ("name", "arguments", "id"), "a call")
                if "name" not in entry:
                    raise self._error(each, "a call needs 'name'")
                calls.append(self._call(entry["name"], entry))
        fields: dict[str, Any] = {"calls": tuple(calls)}
        read: dict[str, Callable[[yaml.Node], Any]] = {
            "reasoning": lambda at: self._value(at, str, "reasoning: a text"),
            "finish_reason": lambda at: self._word(at, get_args(FinishReason), "finish_reason"),
            "usage": self._usage,
            "delay": lambda at: self._seconds(at, "delay"),
            "pace": lambda at: self._seconds(at, "pace"),
        }
        fields |= {key: read[key](at) for key, at in found.items() if key in read}
        text = str(self._value(found["reply"], (str, int, float), "reply: a text")) if "reply" in found else ""
        return Reply(text, **fields)

    def _call(self, name: yaml.Node, entry: dict[str, yaml.Node]) -> Call:
        arguments = entry.get("arguments")
        return Call(
            self._value(name, str, "a tool's name"),
            {} if arguments is None else self._json(arguments, "arguments"),
            str(self._value(entry["id"], (str, int), "id: a text")) if "id" in entry else "",
        )

    def _json(self, node: yaml.Node, what: str) -> Any:
        value = self._value(node, (dict, str), f"{what}: a mapping, or a text")
        try:
            json.dumps(value)
        except (TypeError, ValueError, RecursionError) as exc:
            raise self._error(node, f"{what} must be JSON: {exc}", "Put dates and the like in quotes.") from exc
        return value

    def _usage(self, node: yaml.Node) -> Usage:
        found = self._mapping(node, tuple(Usage.model_fields), "usage")
        counts = {key: self._value(at, int, f"{key}: a whole number") for key, at in found.items()}
        counts.setdefault("total_tokens", counts.get("input_tokens", 0) + counts.get("output_tokens", 0))
        return Usage(**counts)

    def _seconds(self, node: yaml.Node, what: str) -> float:
        value = float(self._value(node, (int, float), f"{what}: a number of seconds"))
        if not 0 <= value < float("inf"):
            raise self._error(node, f"{what}: a number of seconds from 0 expected, not {value}")
        return value

    def _fault(self, node: yaml.Node) -> Fault:
        if isinstance(node, yaml.ScalarNode):
            return Fault(self._status(node))
        found = self._mapping(node, _FAULT, "a fault")
        read: dict[str, Callable[[yaml.Node], Any]] = {
            "status": self._status,
            "headers": self._headers,
            "body": lambda at: self._json(at, "body"),
            "kind": lambda at: self._word(at, get_args(FaultKind), "kind"),
            "after": self._count,
            "seconds": lambda at: self._seconds(at, "seconds"),
        }
        fields: dict[str, Any] = {
            key: read[key](at) if key in read else str(self._value(at, (str, int), f"{key}: a text"))
            for key, at in found.items()
        }
        if not found.keys() & {"status", "kind"}:
            raise self._error(node, "a fault needs 'status' or 'kind'")
        return Fault(**fields)

    def _count(self, node: yaml.Node) -> int:
        value: int = self._value(node, int, "after: a number of words")
        if value < 0:
            raise self._error(node, f"after: a number of words from 0 expected, not {value}")
        return value

    def _status(self, node: yaml.Node) -> int:
        value: int = self._value(node, int, "status: an HTTP status")
        if not 100 <= value <= 599:
            raise self._error(node, f"status: an HTTP status from 100 to 599 expected, not {value}")
        return value

    def _headers(self, node: yaml.Node) -> dict[str, str]:
        found = self._mapping(node, None, "headers")
        return {key: str(self._value(at, (str, int, float), f"header {key}: a text")) for key, at in found.items()}
