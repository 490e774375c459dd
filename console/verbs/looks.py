"""`themes` and `keys`: what the console can look like, and what its keys do."""

from __future__ import annotations

import os

from console.output import emit, note, table
from console.verbs.frame import Refusal, verb
from themes.choice import BUILT_IN, UnknownTheme, chosen


@verb()
async def themes(*, as_json: bool) -> int:
    """List the themes; `--theme NAME` or $ORBITER_THEME chooses one, ctrl+p in the console another."""
    try:
        shown = chosen(os.environ)
    except UnknownTheme as exc:
        raise Refusal(str(exc)) from exc
    if as_json:
        for name, purpose in BUILT_IN.items():
            emit({"id": name, "purpose": purpose, "chosen": name == shown})
        return 0
    table(("theme", "chosen", "for"), [(name, "yes" * (name == shown), text) for name, text in BUILT_IN.items()])
    if os.environ.get("NO_COLOR"):
        note("NO_COLOR is set: whatever the theme, it is shown in greys")
    return 0


@verb()
async def keys(*, as_json: bool) -> int:
    """List the console's actions: their ids, the keys that do them, and where."""
    from screens.keymap import keymap  # brings all screens along, which `themes` does without

    actions = keymap()
    if as_json:
        for action in actions:
            emit(action._asdict())
    else:
        table(("action", "keys", "where", "does"), [(a.id, " ".join(a.keys), a.place, a.does) for a in actions])
    return 0
