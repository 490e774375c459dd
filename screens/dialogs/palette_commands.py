"""The commands of the palette: keys, screens, actions on runs, themes, runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.binding import Binding

from runtime.record.state.summary import RUN_TERMINAL, Summary
from screens.base.screen_registry import SCREENS
from screens.dialogs.batch_action import BatchActionScreen
from screens.render.key_names import UNBOUND, key_in_words
from screens.shell.messages import ChooseTheme, OpenPlace, OpenRun
from screens.views.decisions.batch_action import ORDER_OUTCOMES, ORDERS, BatchItem, order_question
from screens.views.lists.commands import Command, CommandKind
from screens.views.lists.runs import title_of

if TYPE_CHECKING:
    from screens.base.runtime_screen import RuntimeScreen

_NOT_LISTED: Final = frozenset({"prompt", "editor", "palette"})
"""Contexts whose keys only mean something where the focus is. A decision is made in its prompt, never by a name."""
_EVERYWHERE: Final = 2
_MOVES: Final = 3
_MOST_WANTED: Final = 5
"""Runs that need a decision and stand near the top; all of them are among the runs."""
_OTHER_NAMES: Final = {"app.quit": ("q", "q!", "exit"), "app.help": ("keys", "?"), "app.up": ("back",)}


def palette_commands(screen: RuntimeScreen) -> list[Command]:
    """All of them, in the order in which they are looked for: places, the runs that need a decision most, what this
    screen has keys for, what every screen has, looks, runs; then what acts by name, and last what only moves a cursor.
    """
    found: dict[str, Command] = {}
    actions = sorted(_actions(screen), key=lambda ranked: ranked[0])
    here = [command for rank, command in actions if rank < _EVERYWHERE]
    everywhere = [command for rank, command in actions if rank == _EVERYWHERE]
    moves = [command for rank, command in actions if rank == _MOVES]
    others = (*everywhere, *_pages(screen), *_looks(screen), *_runs(screen), *_orders(screen))
    for command in (*_places(screen), *_waiting(screen), *here, *others, *moves):
        found.setdefault(command.name, command)
    return list(found.values())


def _actions(screen: RuntimeScreen) -> Iterator[tuple[int, Command]]:
    """What has a key, as it works where the focus is now, and what has one but cannot be done; each with its rank: what
    the foot of the screen shows, what is the screen's own, what is everywhere, what moves a cursor.
    """
    active = list(screen.active_bindings.values())
    seen = set()
    keys: dict[str, list[str]] = {}
    for each in active:
        if each.binding.id and each.binding.key != UNBOUND:
            keys.setdefault(each.binding.id, []).append(key_in_words(each.binding.key))
    places = {"app.palette", *(f"app.{name}" for name in SCREENS)}
    for each in active:
        named = each.binding.id
        if not named or named in seen or named in places or named.partition(".")[0] in _NOT_LISTED:
            continue
        seen.add(named)
        act = partial(screen.app.run_action, each.binding.action, each.node)
        why_not = "" if each.enabled else screen.why_not(each.binding.action) or "not now"
        key = min(keys.get(named, [""]), key=len)
        yield _rank(each.binding), _command(screen, each.binding, act, key, why_not)
    for owner in type(screen).__mro__:
        for binding in owner.__dict__.get("BINDINGS", ()):
            if isinstance(binding, Binding) and binding.id and binding.id not in seen and binding.id not in places:
                seen.add(binding.id)
                if why_not := screen.why_not(binding.action):
                    key = key_in_words(binding.key.partition(",")[0])
                    yield _rank(binding), _command(screen, binding, lambda: None, key, why_not)


def _rank(binding: Binding) -> int:
    context = (binding.id or "").partition(".")[0]
    if context in ("tree", "page") or (context == "list" and not binding.show):
        return _MOVES
    return _EVERYWHERE if context == "app" else 0 if binding.show else 1


def _command(screen: RuntimeScreen, binding: Binding, act: Callable[[], object], key: str, why_not: str) -> Command:
    acts = binding.action.partition("(")[0] in screen.ACTS
    named = binding.id or ""
    name = named.partition(".")[2].replace("_", " ")
    return Command(
        name,
        binding.tooltip or binding.description,
        act,
        key,
        _OTHER_NAMES.get(named, ()),
        why_not,
        CommandKind.ACT if acts else CommandKind.KEY,
    )


def _pages(screen: RuntimeScreen) -> Iterator[Command]:
    look = CommandKind.LOOK
    yield Command("notices", "What was said in a line so far", screen.action_notices, also=("messages",), kind=look)
    yield Command("digest", "What happened while you were away", screen.action_digest, also=("away",), kind=look)


def _places(screen: RuntimeScreen) -> Iterator[Command]:
    keys = {each.binding.id: key_in_words(each.binding.key) for each in screen.active_bindings.values()}
    for place in SCREENS.values():
        go = partial(screen.post_message, OpenPlace(place.name))
        yield Command(
            place.title.lower(),
            f"Go to {place.title}",
            go,
            keys.get(f"app.{place.name}", ""),
            (place.name, *place.aliases),
            kind=CommandKind.PLACE,
        )


# -- orders to runs ------------------------------------------------------------------------------------------------


def _orders(screen: RuntimeScreen) -> Iterator[Command]:
    """Freeze, thaw and abort: the run that is shown by the bare word, any other by its title, all of them at once."""
    context = screen.session.render_context()
    going = [found for found in screen.link.summaries.values() if found.state not in RUN_TERMINAL]
    here = next((found for found in going if found.id == screen.run_here), None)
    if here is not None:
        may_not = _may_not(screen, here.id)
        for verb, words in (
            ("freeze", "Freeze this run: no new step begins; asks first"),
            ("thaw", "Let this run go on; asks first"),
            ("abort", "End this run now; asks first"),
        ):
            yield Command(verb, words, partial(run_order, screen, verb, here), why_not=may_not, kind=CommandKind.ACT)
    reached = screen.link.status.phase == "connected" or any(screen.link.host_names)
    why_not = _may_not(screen, "") if reached else "no runtime is connected"
    for verb, words in (
        ("freeze", "Freeze every run, and those to come; asks first"),
        ("thaw", "Let every run go on; asks first"),
    ):
        act = partial(run_order, screen, verb, None)
        yield Command(f"{verb} everything", words, act, why_not=why_not, kind=CommandKind.ACT_ALL)
    for found in reversed(going):
        title = f"{title_of(found, context)} {context.sanitize_line(found.id, 40)}"
        may_not = _may_not(screen, found.id)
        hold = ("thaw", "Let it go on") if found.state == "frozen" else ("freeze", "No new step begins")
        for verb, words in (hold, ("abort", "End it now")):
            act = partial(run_order, screen, verb, found)
            kind = CommandKind.ACT_ELSEWHERE
            yield Command(f"{verb} {title}", f"{words}; asks first", act, why_not=may_not, kind=kind)


def _may_not(screen: RuntimeScreen, run_id: str) -> str:
    return "" if screen.session.may_act(run_id) else "this login may only look"


def run_order(screen: RuntimeScreen, verb: str, run: Summary | None) -> None:
    """Say a verb of a run, or of all, once that was asked about: a search may have found another than was meant."""
    context = screen.session.render_context()
    what = f"every run{_out_of_reach(screen)}" if run is None else f"the run {title_of(run, context)}"
    question = order_question(verb, what)
    if verb == "freeze" and run is None:
        question = "Freeze every run, and those that are started later, until they are thawed?"
    item = BatchItem(run.id if run is not None else "", what)

    async def act(run_id: str) -> None:
        await screen.link.ask(ORDERS[verb](run_id=run_id))

    page = BatchActionScreen(
        screen.session, verb.capitalize(), [item], act, done=ORDER_OUTCOMES[verb], question=question
    )
    screen.app.push_screen(page)


def _out_of_reach(screen: RuntimeScreen) -> str:
    """What an order to all does not reach: of several hosts, one that is lost must not keep it from the others."""
    context = screen.session.render_context()
    away = [
        context.sanitize_line(found.host, 40)
        for found in screen.link.qualities
        if found.host and found.phase != "connected"
    ]
    return f" (but not on {', '.join(away)}: out of reach)" if away else ""


# -- looks and runs ------------------------------------------------------------------------------------------------


def _looks(screen: RuntimeScreen) -> Iterator[Command]:
    for name in screen.app.available_themes:
        now = "the theme in use" if name == screen.app.theme else "Use it, and keep it"
        yield Command(f"theme {name}", now, partial(screen.post_message, ChooseTheme(name)), kind=CommandKind.LOOK)


def _waiting(screen: RuntimeScreen) -> Iterator[Command]:
    """The runs that need a decision, the most urgent first; each opens at that decision."""
    first = {found.run_id: found.opened.incident_id for found in reversed(screen.session.decisions())}
    most = dict.fromkeys(found.run_id for found in screen.session.decisions())
    for run_id in list(most)[:_MOST_WANTED]:
        if (run := screen.link.summaries.get(run_id)) is not None:
            act = partial(screen.post_message, OpenRun(run_id, first[run_id]))
            yield _run(screen, run, "Decide: it waits for you", act)


def _runs(screen: RuntimeScreen) -> Iterator[Command]:
    context = screen.session.render_context()
    for found in reversed(list(screen.link.summaries.values())):
        state = f"Go to it: {context.sanitize_line(found.shown_phase, 20)}"
        yield _run(screen, found, state, partial(screen.post_message, OpenRun(found.id)))


def _run(screen: RuntimeScreen, run: Summary, does: str, act: Callable[[], object]) -> Command:
    context = screen.session.render_context()
    named = context.sanitize_line(run.id, 40)
    title = title_of(run, context)
    also = (named, f"run {named}", title, f"run {title}")
    return Command(f"run {title} {named}", does, act, also=also, kind=CommandKind.RUN)
