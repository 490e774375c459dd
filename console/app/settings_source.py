"""Each setting of the console with its value and its source, for the settings page."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from console.app.export_files import exports_directory
from console.preferences.keymap import PRESETS
from console.terminal.escape_sequences import has_title
from console.workspace import workspace
from orbiter.redaction import redact
from runtime.link.client.client import LinkClient
from runtime.link.client.multi_client import MultiClient
from screens.views.lists.settings import Setting
from themes.choice import BUILTIN_NAMES, THEME_ENV

if TYPE_CHECKING:
    from textual.app import App

    from console.preferences.schema import Preferences
    from screens.shell.context import ConsoleContext, Link
    from screens.shell.frame_rate import FrameRateGovernor


def collect_settings(
    app: App[None], session: ConsoleContext, preferences: Preferences, *, mouse: bool | None
) -> list[Setting]:
    """All of them, by group, as they are now. `mouse` is whether it is taken, if that is known."""
    return [
        *_appearance(app, session),
        *_keys(preferences),
        *_terminal(preferences, session.governor, mouse=mouse),
        *_notices(preferences),
        *_runtimes(session.link),
        *_files(),
        *_configured(link=session.link),
    ]


def _appearance(app: App[None], session: ConsoleContext) -> Iterator[Setting]:
    why = f"--theme, ${THEME_ENV}, orbiter.toml console.theme, or chosen here"
    context = session.render_context()
    shows = context.hints((context.key("list.open", "enter"), "shows it"))
    for name in app.available_themes:
        worn = name == app.theme
        yield Setting("Looks", name, BUILTIN_NAMES.get(name, "your own"), why if worn else shows, name, chosen=worn)
    plain = session.glyphs.name == "ascii"
    yield Setting("Looks", "signs", "ASCII" if plain else "Unicode", "--ascii, $ORBITER_ASCII, or the locale")
    colours = "none" if app.no_color else str(app.console.color_system)
    yield Setting("Looks", "colours", colours, "$NO_COLOR, $COLORTERM, $TERM")


def _keys(preferences: Preferences) -> Iterator[Setting]:
    preset = str(preferences.keys.get("preset", "default"))
    yield Setting("Keys", "preset", f"{preset} (there are {', '.join(PRESETS)})", preferences.source("keys", "preset"))
    changed = len(preferences.keymap.changed) if preferences.keymap is not None else 0
    yield Setting("Keys", "changed", f"{changed} actions", "orbiter-console keys prints the map")


def _terminal(preferences: Preferences, governor: FrameRateGovernor, *, mouse: bool | None) -> Iterator[Setting]:
    inside = next((words for name, words in (("TMUX", "tmux"), ("STY", "screen")) if os.environ.get(name)), "")
    over = "over SSH" if os.environ.get("SSH_CONNECTION") else "here"
    kind = ", ".join(filter(None, (os.environ.get("TERM", "TERM is not set"), inside, over)))
    yield Setting("Terminal", "kind", kind, "$TERM, $TMUX, $SSH_CONNECTION")
    taken = {True: "taken", False: "left to the terminal", None: "not known"}[mouse]
    yield Setting(
        "Terminal", "mouse", taken, _source_text(preferences.source("console", "mouse"), "--mouse, --no-mouse")
    )
    copies = "through the terminal (OSC 52)" if preferences.copy == "terminal" else "into files"
    yield Setting("Terminal", "copy", copies, preferences.source("console", "copy"))
    title = "set by the console while it runs" if preferences.title and has_title(os.environ) else "left alone"
    yield Setting("Terminal", "title", title, preferences.source("console", "title"))
    link = f"{governor.quality}; drawn at most every {governor.frame_s:g} s"
    yield Setting("Terminal", "link", link, "measured: how long writes wait")


def _source_text(source: str, other: str) -> str:
    return other if source == "default" else source


def _notices(preferences: Preferences) -> Iterator[Setting]:
    from console.app.notifications import CONSOLE_CHANNELS, console_rules

    rules = console_rules(preferences.notices)
    for channel, least in ((name, rules.channels.get(name)) for name in CONSOLE_CHANNELS):
        words = f"from {least.value} on" if least is not None else "silent"
        yield Setting("Notices", channel, words, preferences.source("notices", channel))
    quiet = preferences.source("notices", "quiet_seconds")
    yield Setting("Notices", "quiet after one", f"{rules.quiet_s:g} s", quiet)


def _runtimes(link: Link) -> Iterator[Setting]:
    clients = link.clients if isinstance(link, MultiClient) else {"": link} if isinstance(link, LinkClient) else {}
    for host, client in clients.items():
        group = f"Runtime on {host}" if host else "Runtime"
        yield Setting(group, "link", f"{client.status.phase} {client.status.reason}".strip(), "measured")
        hello = client.hello
        if hello is not None:
            yield Setting(group, "program", f"{hello.program}, process {hello.pid}", "the runtime")
            yield Setting(group, "workspace", hello.workspace, "the runtime")
            yield Setting(group, "you are", f"{hello.peer}, {hello.role}", "the runtime")
            keys = ", ".join(hello.keys) or "none: only scripted models can be used"
            yield Setting(group, "provider keys", keys, "its environment, or runtime.env_file")


def _files() -> Iterator[Setting]:
    place = workspace()
    yield Setting("Files", "directory", str(place.root), "where the console was opened")
    yield Setting("Files", "state", str(place.state), "--state, $ORBITER_STATE, or .orbiter")
    yield Setting("Files", "exports", str(exports_directory(place.state)), "beside the journal")


def _configured(link: Link) -> Iterator[Setting]:
    """Every setting of `orbiter.toml`, as a runtime that starts in this directory would take it. Those of a host are on
    that host.
    """
    if isinstance(link, MultiClient):
        yield Setting("orbiter.toml", "settings of runs", "orbiter-console config prints them", "on each host")
        return
    from runtime.config.environment import config_files

    files = config_files(workspace().root, os.environ)
    yield from _read_configuration(workspace().root, tuple((path, _changed_ns(path)) for path in files))


def _changed_ns(path: Path) -> int:
    """When a file was changed, in nanoseconds; 0 where it is not there."""
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0


@lru_cache(maxsize=1)
def _read_configuration(root: Path, _files: tuple[tuple[Path, int], ...]) -> tuple[Setting, ...]:
    """Read again only when a file was changed: the page is drawn at every change of any run."""
    from runtime.config.loader import InvalidConfiguration, load_configuration

    try:
        values = load_configuration(root).values()
    except InvalidConfiguration as exc:
        return (Setting("orbiter.toml", "cannot be used", str(exc), "correct the file, then read it again"),)
    parts = ((each.key.partition("."), each) for each in values)
    return tuple(
        Setting(f"orbiter.toml [{section}]", key, redact(json.dumps(each.value, default=str)), each.source)
        for (section, _, key), each in parts
        if section not in ("console", "keys", "notices")
    )
