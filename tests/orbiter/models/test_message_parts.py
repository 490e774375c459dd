"""What is said to a model of a tool's result that its API has no form for."""

from __future__ import annotations

import json

import pytest

from orbiter.models.anthropic import wire as anthropic
from orbiter.models.model_errors import CallContext
from orbiter.models.openai import chat_wire, responses
from orbiter.types import AudioBlock, Message, ToolResult, VideoBlock

CALLED: list[Message] = [ToolResult(tool_call_id="c", tool_name="t", content=[VideoBlock(data="aGk=")])]
LEFT_OUT = "[video: left out, this model takes no content of this kind]"


@pytest.mark.parametrize("api", ["chat", "responses", "anthropic"])
def test_a_result_that_an_api_has_no_form_for_does_not_end_the_conversation(api: str) -> None:
    """A tool has nothing else to offer, and each later call would fail of it."""
    if api == "chat":
        found = json.dumps(chat_wire.to_wire(CALLED, provider="openai", model="m"))
    elif api == "responses":
        found = json.dumps(responses.to_wire(CALLED, CallContext("openai", "m")))
    else:
        sound: list[Message] = [ToolResult(tool_call_id="c", tool_name="t", content=[AudioBlock(data="aGk=")])]
        found = json.dumps(anthropic.to_wire(sound, provider="anthropic", model="m")).replace("audio", "video")
    assert LEFT_OUT in found
