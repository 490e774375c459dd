"""`themes` and `keys`: what the console can look like, and what its keys do."""

from __future__ import annotations

import os

import click

from console.output import print_json, print_line, print_note, print_table
from console.verbs.base import BadInput, verb
from console.workspace import workspace
from themes.catalog import ThemeCatalog
from themes.choice import BUILTIN_NAMES, ThemeError, choose_theme


@verb()
@click.argument("name", required=False)
async def themes(*, name: str | None, as_json: bool) -> int:
    """List the themes, or show how well the texts of one can be read. `--theme NAME` or $ORBITER_THEME chooses.

    Themes of your own are files in ~/.config/orbiter-console/themes, or in .orbiter/themes for one workspace.
    """
    shelf = workspace().themes(os.environ)
    try:
        if name is None:
            return _list_themes(shelf, choose_theme(os.environ, own=shelf.own), as_json=as_json)
        return _show_theme(shelf, choose_theme({}, name, shelf.own), as_json=as_json)
    except ThemeError as exc:
        raise BadInput(str(exc).replace("--theme: ", "", 1)) from exc


def _list_themes(shelf: ThemeCatalog, shown: str, *, as_json: bool) -> int:
    """All themes; those of the user whose file cannot be used with the reason."""
    from themes.loader import load_theme  # with Textual's colours, which other verbs of this module do without

    rows = [{"id": name, "source": "built-in", "for": purpose} for name, purpose in BUILTIN_NAMES.items()]
    for name, (path, source) in shelf.own().items():
        rows.append({"id": name, "source": source, "path": str(path)})
        try:
            load_theme(path)
        except ThemeError as exc:
            rows[-1]["error"] = str(exc)
    if as_json:
        for row in rows:
            print_json({**row, "chosen": row["id"] == shown})
        return 0
    shape = ("theme", "chosen", "source", "for")
    texts = [row.get("error") or row.get("for") or row["path"] for row in rows]
    print_table(
        shape, [(r["id"], "yes" * (r["id"] == shown), r["source"], text) for r, text in zip(rows, texts, strict=True)]
    )
    if os.environ.get("NO_COLOR"):
        print_note("NO_COLOR is set: whatever the theme, it is shown without colours")
    return 0


def _show_theme(shelf: ThemeCatalog, name: str, *, as_json: bool) -> int:
    """One theme, and which of its texts are hard to read on which ground."""
    from themes.contrast import MIN_READABLE_RATIO, contrast_pairs, weak_pairs

    theme, own = shelf.theme(name), shelf.own().get(name)
    faint, least = weak_pairs(theme), min(pair.ratio for pair in contrast_pairs(theme))
    if as_json:
        found = [{"ink": ink, "ground": ground, "contrast": round(ratio, 2)} for ink, ground, ratio in faint]
        where = {"source": own.source, "path": str(own.path)} if own is not None else {"source": "built-in"}
        palette = {"dark": theme.dark, "ansi": theme.ansi, "contrast": round(least, 2), "weak": found}
        print_json({"id": name, **where, **palette})
        return 0
    kind = "the terminal's own colours" if theme.ansi else "colours of its own"
    print_line(f"{name}: {BUILTIN_NAMES[name] if own is None else own.path}")
    print_line(f"for {'dark' if theme.dark else 'light'} grounds, in {kind}; every text at least {least:.1f}:1")
    for ink, ground, ratio in faint:
        print_note(f"hard to read: {ink} on {ground}, {ratio:.1f}:1 where {MIN_READABLE_RATIO}:1 is wanted")
    return 0


@verb()
@click.option("--preset", metavar="NAME", default="", help="With this preset instead of the one in orbiter.toml.")
async def keys(*, preset: str, as_json: bool) -> int:
    """List the console's actions: their ids, their keys as set in orbiter.toml, and where they work."""
    from console.preferences.loader import keys_in_force, read_preferences  # all screens come along
    from screens.render.key_names import key_in_words
    from screens.shell.key_actions import actions

    found = keys_in_force(read_preferences(workspace().root), preset=preset)
    rows = [(each.id, each.place, tuple(map(key_in_words, found.keys[each.id])), each.does) for each in actions()]
    if as_json:
        for name, place, held, does in rows:
            print_json({"id": name, "place": place, "keys": held, "does": does})
    else:
        print_table(
            ("action", "keys", "where", "does"),
            [(name, " ".join(held), place, does) for name, place, held, does in rows],
        )
    return 0
