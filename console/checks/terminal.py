"""The terminal: whether there is one, what it can show, and what stands between it and us."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Final, TextIO

from console.checks.finding import CheckContext, Finding, program_output
from console.output import is_plain_console, is_utf8_locale, supports_unicode
from themes.choice import color_depth

_MIN_WIDTH: Final = 80
_MIN_HEIGHT: Final = 24
_SLOW_ESCAPE_MS: Final = 100
"""Tmux holds an Esc back for so long that it is felt; 500 ms is its default before 3.5."""


def check_terminal(world: CheckContext) -> Iterator[Finding]:
    """Whether a screen can be opened here, and how large it would be."""
    term = world.environment.get("TERM", "")
    ends = [stream for stream in (sys.stdin, sys.stdout, sys.stderr) if _is_terminal(stream)]
    told = f"TERM {term or 'not set'}"
    if not ends:
        yield Finding("terminal", "warn", f"{told}; no terminal here", "run doctor in a terminal to check that one")
        return
    size = os.get_terminal_size(ends[0].fileno())
    told = f"{told}, {size.columns} x {size.lines} cells"
    if term in {"", "dumb"}:
        yield Finding("terminal", "warn", told, "no screen can be opened here; set TERM, as xterm-256color")
    elif size.columns < _MIN_WIDTH or size.lines < _MIN_HEIGHT:
        advice = f"panes are cut below {_MIN_WIDTH} x {_MIN_HEIGHT}: make the window larger, or the font smaller"
        yield Finding("terminal", "warn", told, advice)
    else:
        yield Finding("terminal", "ok", told)


def check_colors(world: CheckContext) -> Iterator[Finding]:
    """How many colours are painted."""
    found = color_depth(world.environment)
    if world.environment.get("NO_COLOR"):
        yield Finding("colours", "ok", "none, because NO_COLOR is set: bold and reverse video stand for them")
    elif found == "none":
        yield Finding("colours", "warn", "none, because TERM is not set", "set TERM, as xterm-256color")
    elif found == "16":
        advice = "if this terminal can show more, set COLORTERM=truecolor, or TERM to a name that ends in -256color"
        yield Finding("colours", "warn", "16: the theme is one in the terminal's own colours", advice)
    else:
        yield Finding("colours", "ok", "24 bits" if found == "truecolor" else found)


def check_locale(world: CheckContext) -> Iterator[Finding]:
    """Whether signs other than ASCII can be shown."""
    names = ("LC_ALL", "LC_CTYPE", "LANG")
    told = ", ".join(f"{name}={world.environment[name]}" for name in names if world.environment.get(name))
    told = f"{told or 'no locale is set'}; output is {sys.stdout.encoding}"
    if supports_unicode():
        yield Finding("locale", "ok", told)
    elif is_utf8_locale(world.environment) and world.environment.get("ORBITER_ASCII"):
        yield Finding("locale", "ok", f"{told}; ASCII, as ORBITER_ASCII or --ascii says")
    elif is_utf8_locale(world.environment) and is_plain_console(world.environment):
        few = f"{told}; ASCII signs, because a terminal of kind {world.environment['TERM']} has few others"
        yield Finding("locale", "ok", f"{few} (ORBITER_ASCII=0 shows them all the same)")
    else:
        advice = "for other signs set LANG to one in UTF-8, as C.UTF-8"
        yield Finding("locale", "warn", f"{told}: ASCII signs are used", advice)


def check_multiplexer(world: CheckContext) -> Iterator[Finding]:
    """Tmux or screen, which have to let colours and copied text through."""
    if world.environment.get("TMUX"):
        yield from _tmux()
    elif world.environment.get("STY"):
        yield Finding(
            "multiplexer",
            "warn",
            "GNU screen, which cuts what is copied to some 700 characters",
            "copying longer texts goes to a file; in tmux it goes to the clipboard",
        )


def _tmux() -> Iterator[Finding]:
    told = program_output("tmux", "-V")
    if told is None:
        yield Finding("multiplexer", "warn", "TMUX is set, but tmux does not answer", "see: command -v tmux")
        return
    options = {"set-clipboard": "-sv", "allow-passthrough": "-wAv", "default-terminal": "-sv", "escape-time": "-sv"}
    clipboard, through, kind, escape = (
        program_output("tmux", "show-options", how, name) or "?" for name, how in options.items()
    )
    told = f"{told}: set-clipboard {clipboard}, allow-passthrough {through}, default-terminal {kind}"
    told = f"{told}, escape-time {escape}"
    wanted = []
    if clipboard != "on" and through not in {"on", "all"}:
        wanted.append("to copy from here: set -s set-clipboard on")
    if not kind.endswith("256color"):
        wanted.append('for more than 16 colours: set -s default-terminal "tmux-256color"')
    if escape.isdecimal() and int(escape) > _SLOW_ESCAPE_MS:
        wanted.append("for esc to work at once: set -s escape-time 20")
    advice = f"in ~/.tmux.conf, {'; '.join(wanted)}" if wanted else ""
    if program_output("tmux", "display-message", "-p", "#{client_utf8}") == "0":
        told = f"{told}, no UTF-8: signs show as _"
        advice = "; ".join((*([advice] if advice else []), "attach with tmux -u, or set a UTF-8 LANG before"))
    yield Finding("multiplexer", "warn" if advice else "ok", told, advice)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False
