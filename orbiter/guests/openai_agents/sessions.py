"""A session whose reads and writes are steps: what it held at first is recalled, and nothing is stored twice."""

from __future__ import annotations

from typing import Any

from agents import OpenAIConversationsSession, Session, is_openai_responses_compaction_aware_session
from agents.items import TResponseInputItem
from agents.memory import SessionABC

from orbiter.errors import ConfigurationError
from orbiter.guests.openai_agents.life import Life
from orbiter.steps import Codec, Step


class _SessionCodec(Codec[tuple[Session, Any], Any]):
    def describe(self, arguments: tuple[Session, Any]) -> dict[str, Any]:
        return {"session": arguments[0].session_id}

    def dump(self, result: Any) -> Any:
        return result

    def load(self, value: Any) -> Any:
        return value


_SESSION = _SessionCodec()


class StepSession(SessionABC):
    """A session of the user's, for one run.

    Args:
        session: The user's.
        life: The run that is under way.

    Raises:
        ConfigurationError: The session is kept by the provider, or rewrites itself.
    """

    def __init__(self, session: Session, life: Life) -> None:
        if isinstance(session, OpenAIConversationsSession) or is_openai_responses_compaction_aware_session(session):
            raise ConfigurationError(
                f"a session of the class {type(session).__name__} cannot be used in a recorded run: it is changed"
                " outside of it. Use a session that stores items, for example SQLiteSession"
            )
        self._session = session
        self._life = life
        self.session_id = session.session_id
        self.session_settings = getattr(session, "session_settings", None)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """What the session holds."""
        found: list[TResponseInputItem] = await self._step("read", limit, _read)
        return found

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items. After a crash they are stored again only if the session does not end with them."""
        await self._step("add", items, _add)

    async def pop_item(self) -> TResponseInputItem | None:
        """Take the latest item out."""
        found: TResponseInputItem | None = await self._step("pop", None, _pop)
        return found

    async def clear_session(self) -> None:
        """Take all items out."""
        await self._step("clear", None, _clear)

    async def _step(self, what: str, given: Any, call: Any) -> Any:
        life, name = self._life, f"session {what}"
        arguments = (self._session, given)
        return await life.root.step(Step("value", name, life.agent, life.place_of(name), arguments, call, _SESSION))


async def _read(arguments: tuple[Session, Any]) -> Any:
    session, limit = arguments
    return await session.get_items(limit)


async def _add(arguments: tuple[Session, Any]) -> Any:
    session, items = arguments
    if items and list(await session.get_items(len(items))) != list(items):
        await session.add_items(items)
    return len(items)


async def _pop(arguments: tuple[Session, Any]) -> Any:
    return await arguments[0].pop_item()


async def _clear(arguments: tuple[Session, Any]) -> Any:
    await arguments[0].clear_session()
