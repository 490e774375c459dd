"""A chat model of LangChain whose replies a function gives, for tests and benchmarks of guests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

Calls = Sequence[tuple[str, str, dict[str, Any]]]
"""Calls of tools: the name, the id and the arguments of each."""
Reply = str | Calls


class ScriptedChat(BaseChatModel):
    """Says what `reply` gives for the conversation, at once. `model` is what it is called."""

    reply: Callable[[list[BaseMessage]], Reply]
    model: str = ""

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        said = chat_message(self.reply(messages))
        return ChatResult(generations=[ChatGeneration(message=said)])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages)  # without a thread


def chat_message(reply: Reply) -> AIMessage:
    """A reply as a message of LangChain."""
    if isinstance(reply, str):
        return AIMessage(reply)
    return AIMessage("", tool_calls=[{"name": name, "id": call_id, "args": args} for name, call_id, args in reply])
