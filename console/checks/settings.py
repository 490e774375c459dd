"""What is configured: `orbiter.toml`, the console's keys and theme, the keys of providers; and ssh."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from console.checks.finding import CheckContext, Finding, program_output
from console.preferences.loader import keys_in_force, read_preferences
from orbiter.errors import ConfigurationError
from orbiter.models.endpoints import ENDPOINTS
from runtime.config.environment import InvalidEnvironment, config_files, read_env_file
from runtime.config.loader import load_configuration
from runtime.daemon import daemon
from screens.render.formatting import pluralize
from themes.choice import ThemeError, choose_theme
from themes.contrast import MIN_READABLE_RATIO, weak_pairs
from themes.loader import load_theme


def check_settings(world: CheckContext) -> Iterator[Finding]:
    """Both `orbiter.toml`."""
    paths = config_files(world.place.root, world.environment)
    there = [str(path) for path in paths if path.is_file()]
    try:
        refused = load_configuration(world.place.root, world.environment).refused_hosts()
    except ConfigurationError as exc:
        yield Finding("settings", "fail", str(exc), "correct the file; orbiter-console config shows what is in force")
    else:
        yield Finding("settings", "ok", ", ".join(there) or f"defaults only: neither {paths[0]} nor {paths[1]} exists")
        for why in refused.values():
            yield Finding("hosts", "warn", why)


def check_keymap(world: CheckContext) -> Iterator[Finding]:
    """The console's keys: those configured are known, and no two actions want one key."""
    try:
        preferred = read_preferences(world.place.root, world.environment)
        found = keys_in_force(preferred)
    except ConfigurationError as exc:
        yield Finding("keymap", "fail", str(exc), "correct the file; orbiter-console keys lists actions and keys")
    else:
        yield Finding("keymap", "ok", f"{len(found.keys)} actions, {len(found.changed)} with keys of your own")


def check_themes(world: CheckContext) -> Iterator[Finding]:
    """The theme that was asked for, and every theme of the user's own."""
    shelf = world.place.themes(world.environment)
    asked = ""
    with suppress(ConfigurationError):  # `keymap` says what is wrong with it
        asked = read_preferences(world.place.root, world.environment).theme
    try:
        name = choose_theme({"ORBITER_THEME": asked, **world.environment}, own=shelf.own)
        shelf.theme(name)
    except ThemeError as exc:
        yield Finding("theme", "fail", str(exc), "orbiter-console themes lists them")
    else:
        yield Finding("theme", "ok", name)
    for name, (path, _) in shelf.own().items():
        yield _own_theme(name, path)


def _own_theme(name: str, path: Path) -> Finding:
    try:
        faint = weak_pairs(load_theme(path))
    except ThemeError as exc:
        return Finding(f"theme {name}", "fail", str(exc), "correct the file, or remove it")
    if not faint:
        return Finding(f"theme {name}", "ok", str(path))
    ink, ground, ratio = faint[0]
    example = f"{ink} on {ground} is {ratio:.1f}:1, {MIN_READABLE_RATIO}:1 is wanted"
    told = f"{path}: {pluralize(len(faint), 'text is', 'texts are')} hard to read; {example}"
    return Finding(f"theme {name}", "warn", told, f"orbiter-console themes {name} lists them")


def check_provider_keys(world: CheckContext) -> Iterator[Finding]:
    """Which providers' keys are there. Neither their values nor whether they are valid is looked at."""
    filed, file = _env_file(world)
    absent: list[str] = []
    for variable in dict.fromkeys(each.key_variables[0] for each in ENDPOINTS.values() if each.key_required):
        if world.environment.get(variable):
            yield Finding(variable, "ok", "is set in the environment")
        elif filed.get(variable):
            yield Finding(variable, "ok", f"is set in {file}")
        else:
            absent.append(variable)
    if len(absent) == sum(each.key_required for each in ENDPOINTS.values()):
        advice = "export the one you have a key for, or put it into an env_file (orbiter.toml, runtime.env_file)"
        yield Finding("keys", "warn", f"none is set, of {', '.join(absent)}", advice)
    elif absent:
        yield Finding("keys", "ok", f"not set, so models of these cannot be used: {', '.join(absent)}")
    yield from _keys_of_the_runtime(world)


def _env_file(world: CheckContext) -> tuple[Mapping[str, str], str]:
    with suppress(ConfigurationError, InvalidEnvironment):  # `settings` says what is wrong with it
        if name := load_configuration(world.place.root, world.environment).settings.runtime.env_file:
            path = world.place.root / Path(name).expanduser()
            return read_env_file(path), str(path)
    return {}, ""


def _keys_of_the_runtime(world: CheckContext) -> Iterator[Finding]:
    """A runtime has the keys that were there when it was started."""
    told = None
    with suppress(OSError):  # `runtime` says what is wrong with it
        told = daemon.status(world.place.state) if world.place.state.exists() else None
    if told is None:
        return
    here = {name for each in ENDPOINTS.values() for name in each.key_variables if world.environment.get(name)}
    if missing := sorted(here - set(told.keys)):
        advice = "orbiter-console stop, then open the console here; or put them into an env_file"
        yield Finding("keys of the runtime", "warn", f"it was started without {', '.join(missing)}", advice)


def check_ssh(world: CheckContext) -> Iterator[Finding]:
    """OpenSSH's client, for consoles on other machines; and whether this one is looked at over SSH."""
    told = program_output("ssh", "-V")
    over = world.environment.get("SSH_CONNECTION", "").split()
    here = f"; this session comes over SSH from {over[0]}: drawn at 15 frames a second at most" if over else ""
    if told is None:
        yield Finding("ssh", "warn", f"ssh is missing or does not answer{here}", "for --host install OpenSSH's client")
    else:
        yield Finding("ssh", "ok", f"{told}{here}")
