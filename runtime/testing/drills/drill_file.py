"""A drill's file: TOML with a table for each fault. A mistake is named with file, line, key, and an example."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from orbiter.parsing.near_names import near_names
from orbiter.parsing.toml_text import InvalidToml, KeyPath, line_of_key, parse_toml
from orbiter.text_input import UnreadableText, read_text

_FILE_BYTES: Final = 1_000_000
_EXAMPLES: Final = {
    "model": 'model = "*"',
    "tool": 'tool = "fetch_*"',
    "agent": 'agent = "writer"',
    "permission": 'permission = "fs.write:./reports/**"',
    "call": "call = 2",
    "times": "times = 2",
    "status": "status = 429",
    "retry_after_s": "retry_after_s = 1.0",
    "error": 'error = "the service is down"',
    "hang": "hang = true",
    "hang_s": "hang_s = 30.0",
    "kill": "kill = true",
    "after_step": "after_step = 5",
}

STARTER: Final = """# Faults on purpose. Run a swarm with them:
#
#   orbiter-console run swarm.py:swarm "its task" --drill drills.toml
#
# Names are patterns as in a shell. `call` is which of the calls that fit (1: the first), `times` how many of its
# attempts.

# The provider is busy: the second call of a model is answered with 429, twice.
[[faults]]
model = "*"
call = 2
times = 2
status = 429
retry_after_s = 0.5

# A tool raises.
# [[faults]]
# tool = "fetch_*"
# error = "connection refused"

# A tool does not come back: its own limit of time ends it, or else `hang_s`.
# [[faults]]
# tool = "search"
# hang = true
# hang_s = 30.0

# The process is killed (SIGKILL) once five steps are on record; the run goes on in another one.
[[faults]]
after_step = 5
kill = true

# The process is killed while a tool is under way, after its effect: whether it took place is in doubt.
# [[faults]]
# tool = "send_mail"
# kill = true

# A permission is refused, as the configuration would.
# [[faults]]
# permission = "fs.write:./**"
"""


class InvalidDrill(ValueError):
    """A drill's file cannot be used; the text names file and line, and what would be right."""


class DrilledFault(BaseModel):
    """A fault of a drill: where (`model`, `tool`, `permission` or `after_step`), and what happens there."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    model: str = ""
    tool: str = ""
    agent: str = "*"
    permission: str = ""
    after_step: int | None = Field(default=None, ge=1)
    call: int = Field(default=1, ge=1)
    times: int = Field(default=1, ge=1)
    status: int | None = Field(default=None, ge=400, le=599)
    retry_after_s: float | None = Field(default=None, ge=0, strict=False)
    error: str = ""
    hang: bool = False
    hang_s: float = Field(default=30.0, gt=0, strict=False)
    kill: bool = False

    @model_validator(mode="after")
    def _one_place_and_one_fault(self) -> Self:
        places = [name for name in ("model", "tool", "permission", "after_step") if getattr(self, name)]
        if len(places) != 1:
            raise ValueError('must name one place: model, tool, permission or after_step, for example tool = "fetch_*"')
        acts = [name for name in ("status", "error", "hang", "kill") if getattr(self, name)]
        if places == ["permission"]:
            if acts:
                raise ValueError(f"a permission is refused, and takes no {acts[0]}: leave it out")
        elif len(acts) != 1:
            raise ValueError("must say one thing that happens: status, error, hang or kill, for example status = 429")
        elif places == ["after_step"] and acts != ["kill"]:
            raise ValueError(f"after a step the process is killed: write kill = true in place of {acts[0]}")
        elif places == ["tool"] and acts == ["status"]:
            raise ValueError('status is the answer of a model; a tool raises, for example error = "it is down"')
        return self

    def __str__(self) -> str:
        if self.permission:
            return f"permission {self.permission} refused"
        what = (
            "killed"
            if self.kill
            else "hangs"
            if self.hang
            else f"answers {self.status}"
            if self.status
            else f"raises {self.error!r}"
        )
        if self.after_step:
            return f"process killed after step {self.after_step}"
        who = "" if self.agent == "*" else f" of {self.agent}"
        where = f"model {self.model}" if self.model else f"tool {self.tool}"
        return f"{where}{who}, call {self.call}: {what}{f', {self.times} times' if self.times > 1 else ''}"


class Drill(BaseModel):
    """The faults of a drill, in the order of its file."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    faults: tuple[DrilledFault, ...] = Field(min_length=1, strict=False)


def read_drill(path: Path) -> Drill:
    """A drill from its file.

    Args:
        path: The file.

    Raises:
        InvalidDrill: it cannot be read, or something in it is not known or wrong.
    """
    try:
        text = read_text(path, most=_FILE_BYTES)
    except UnreadableText as exc:
        raise InvalidDrill(f"{exc}; 'orbiter-console drill init' writes a file to begin with") from exc
    return parse_drill(text, path.name)


def parse_drill(text: str, name: str) -> Drill:
    """A drill from the text of its file; `name` is what messages call it.

    Raises:
        InvalidDrill: as `read_drill`.
    """
    try:
        data, lines = parse_toml(text)
    except InvalidToml as exc:
        raise InvalidDrill(f"{name}: {exc}") from exc
    try:
        return Drill.model_validate(data)
    except ValidationError as exc:
        raise InvalidDrill(_said(exc.errors()[0], name, lines)) from exc


def _said(error: Any, name: str, lines: dict[KeyPath, int]) -> str:
    path: KeyPath = tuple(error["loc"])
    line = line_of_key(path, lines) or 1
    key = str(path[-1]) if path and isinstance(path[-1], str) else "faults"
    if error["type"] == "extra_forbidden":
        known = list(_EXAMPLES) if len(path) > 1 else ["faults"]
        near = near_names(key, known)
        example = _EXAMPLES.get(near[0], "[[faults]]") if near else _EXAMPLES["tool"]
        takes = f"did you mean '{near[0]}'?" if near else f"there are {', '.join(known)}."
        return f"{name}, line {line}: {key!r} is not known: {takes} For example {example}"
    if error["type"] in ("missing", "too_short", "tuple_type", "model_type", "model_attributes_type"):
        return f'{name}, line {line}: must have a table [[faults]], for example with tool = "fetch_*" and hang = true'
    said = str(error["msg"]).removeprefix("Value error, ").replace("Input should be", "must be", 1)
    example = f", for example {_EXAMPLES[key]}" if key in _EXAMPLES and "for example" not in said else ""
    where = f"{key}: " if key in _EXAMPLES else ""
    return f"{name}, line {line}: {where}{said}{example}"
