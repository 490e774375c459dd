"""Preferences of the console: the sections `console` and `keys` of `orbiter.toml`.

Pure: `console.preferences.loader` reads the files.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from orbiter.errors import ConfigurationError
from orbiter.parsing.near_names import did_you_mean
from orbiter.parsing.toml_text import KeyPath
from runtime.config.environment import variable_name
from runtime.config.layer import source_of

if TYPE_CHECKING:
    from console.preferences.keymap import Keymap

Sources = Mapping[KeyPath, str]
CopyTarget = Literal["terminal", "file"]

SECTIONS: Final = ("console", "keys", "notices")
ALL_SECTIONS: Final = (
    "errors", "budgets", "permissions", "analysis", "notices", "redaction", "runtime", "swarms", "limits", "guests",
    "mcp", "otel", "hosts", "prices", "rules", "console", "keys",
)  # fmt: skip
"""What an `orbiter.toml` may hold: the fields of `runtime.config.schema.Settings`, known without pydantic."""


class InvalidPreferences(ConfigurationError):
    """Something in `[console]` is unknown or wrong; the message has a line for each mistake."""


class Preferences(Struct, frozen=True):
    """The settings of `[console]` (`CONSOLE_SETTINGS` says what each is), and the sections `keys` and `notices` as they
    stand there.
    """

    mouse: bool | None = None
    theme: str = ""
    copy: CopyTarget = "terminal"
    title: bool = True
    idle_gc: bool | None = None
    undo_seconds: int = 3
    keys: Mapping[str, Any] = {}
    notices: Mapping[str, Any] = {}
    guide: bool = True
    """Whether the demo's tour is shown; said on the command line only."""
    keymap: Keymap | None = None
    """What `keys` comes to, once it was checked; None: the bindings as they are."""
    sources: Sources = {}
    """Where what was said stands, by path from the section on."""
    unknown: tuple[str, ...] = ()
    """A sentence for each section that is not one of ours: a console goes on without it, a runtime refuses the file."""

    def source(self, *path: str) -> str:
        """``FILE:LINE``, or ``default``."""
        return self.sources.get(path, "default")


class ConsoleSetting(Struct, frozen=True):
    """A key of `[console]`: a field of `Preferences`.

    Attributes:
        wanted: the values in words, for an error.
        meaning: for the documentation.
        values: what may be written, with what it comes to; empty: any text.
        variable: the environment variable that goes over the files.
        default: as it is written in the file.
    """

    name: str
    wanted: str
    meaning: str
    values: Mapping[Any, Any]
    variable: str
    default: Any

    def written(self, value: Any) -> Any:
        """A value of `Preferences` as it is written in the file."""
        return next((text for text, meant in self.values.items() if meant is value), value)


_DEFAULTS: Final = Preferences()
_UNDO_SECONDS: Final = (0, 1, 2, 3, 5, 10)
_YES_OR_NO: Final = {True: True, False: False}


def _setting(
    name: str, wanted: str, meaning: str, values: Mapping[Any, Any] | None = None, variable: str = ""
) -> ConsoleSetting:
    variable = variable or variable_name(("console", name))
    setting = ConsoleSetting(name, wanted, meaning, values or {}, variable, None)
    return replace(setting, default=setting.written(getattr(_DEFAULTS, name)))


CONSOLE_SETTINGS: Final = (
    _setting(
        "mouse",
        'true, false or "auto"',
        '`true`, `false`, or `"auto"`: not over SSH, nor inside tmux and screen',
        {"auto": None, **_YES_OR_NO},
    ),
    _setting(
        "theme",
        "the name of a theme",
        "the name of a [theme](themes.md); empty: as the terminal allows",
        variable="ORBITER_THEME",
    ),
    _setting(
        "copy",
        '"terminal" or "file"',
        'through the terminal (OSC 52), or always to a `"file"`',
        {"terminal": "terminal", "file": "file"},
    ),
    _setting("title", "true or false", "`true`: the terminal's title is the console's while it is open", _YES_OR_NO),
    _setting(
        "idle_gc",
        'true, false or "auto"',
        '`true`: the console collects garbage only while it is idle; `"auto"`: so, but not with `--embedded`, '
        "where user code runs in its process",
        {"auto": None, **_YES_OR_NO},
    ),
    _setting(
        "undo_seconds",
        f"one of {', '.join(map(str, _UNDO_SECONDS))}",
        "how long an answer can be taken back before it is sent; `0`: it is sent at once",
        {seconds: seconds for seconds in _UNDO_SECONDS},
    ),
)


def preferences(data: Mapping[str, Any], sources: Sources | None = None) -> Preferences:
    """The preferences in the merged sections of the files.

    Raises:
        InvalidPreferences: with all mistakes.
    """
    sources = sources or {}
    wrong = [
        f"{_at(sources, name)}is a section: write [{name}]"
        for name in SECTIONS
        if not isinstance(data.get(name, {}), Mapping)
    ]
    if wrong:
        raise InvalidPreferences("\n".join(wrong))
    console = data.get("console", {})
    known = {each.name: each for each in CONSOLE_SETTINGS}
    given: dict[str, Any] = {}
    for key, value in console.items():
        if key not in known:
            meant = did_you_mean(key, known)
            wrong.append(f"{_at(sources, 'console', key)}unknown key: {meant}valid keys here are: {', '.join(known)}")
        elif not _is_valid(value, known[key]):
            wrong.append(f"{_at(sources, 'console', key)}is {known[key].wanted}, not {value!r}")
        else:
            given[key] = known[key].values.get(value, value)
    if wrong:
        raise InvalidPreferences("\n".join(wrong))
    return Preferences(**given, keys=data.get("keys", {}), notices=data.get("notices", {}), sources=sources)


def _is_valid(value: Any, setting: ConsoleSetting) -> bool:
    if setting.values:
        return any(value == each and type(value) is type(each) for each in setting.values)
    return isinstance(value, str)


def unknown_section(name: str, place: str) -> str:
    """What is said of a section that is not one of ours, with the nearest that is; empty where it is one."""
    if name in ALL_SECTIONS:
        return ""
    meant = did_you_mean(name, ALL_SECTIONS, form="[{}]")
    return f"{place}: unknown section [{name}]: {meant}it is ignored here, and no runtime starts with it"


def mouse_by_default(environment: Mapping[str, str]) -> bool:
    """Not over SSH, and not inside tmux or screen: a terminal that is attached again sends reports unasked,
    and the multiplexer has its own use for the mouse.
    """
    return not any(environment.get(name) for name in ("SSH_CONNECTION", "SSH_TTY", "TMUX", "STY"))


def _at(sources: Sources, *path: str) -> str:
    place = source_of(sources, path)
    return f"{f'{place}: ' if place else ''}{'.'.join(path)}: "
