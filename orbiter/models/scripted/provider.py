"""`scripted:`, a provider that says what a script says: deterministic, offline, failing as the real ones do.

``scripted:name`` is a script registered with `@script("name")` or `script("name", Script(…))`;
``scripted:path/to/file.yaml`` is a file (``file.yaml#name`` for one of several scripts in it).
"""

from __future__ import annotations

from asyncio import sleep
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any, ClassVar, overload

from orbiter.config import ModelConfig
from orbiter.models import model_errors
from orbiter.models.provider import ModelProvider
from orbiter.models.reply_assembly import StreamAssembly
from orbiter.models.scripted.replies import (
    Call,
    Fault,
    Reply,
    Script,
    ScriptFunction,
    ScriptPosition,
    Turn,
    calls_of,
    split_words,
    usage_of,
)
from orbiter.models.timeouts import ModelTimeouts
from orbiter.models.types import ModelError, ModelResponse, StreamChunk, ToolCallDelta
from orbiter.parsing.near_names import near_names
from orbiter.types import Message

__all__ = ["Call", "Fault", "Reply", "Script", "ScriptedProvider", "Turn", "script"]

_registered: dict[str, Script] = {}


@overload
def script(name: str) -> Callable[[ScriptFunction], ScriptFunction]: ...
@overload
def script(name: str, what: Script | list[Turn] | ScriptFunction) -> Script: ...
def script(
    name: str, what: Script | list[Turn] | ScriptFunction | None = None
) -> Script | Callable[[ScriptFunction], ScriptFunction]:
    """Register a script, so that ``scripted:<name>`` finds it: as a decorator of a callable, or directly.

    A name that is taken is replaced: a file of examples may be loaded twice.

    Args:
        name: The script's name.
        what: The script, a list of its turns, or a callable of messages and tools; None: as a decorator.

    Returns:
        The script, or the decorator.

    Examples:
        >>> from orbiter import Agent, run
        >>> from orbiter.models import Reply, script
        >>> _ = script("polite", lambda messages, tools: Reply(f"You said: {messages[-1].content}"))
        >>> run.sync(Agent(name="host", model="scripted:polite"), "Hello").output
        'You said: Hello'
    """
    if not isinstance(name, str):
        raise TypeError(f"script takes a name and then what is said, such as script('polite', ['Hello']); got {name!r}")
    if what is None:

        def registered(speaker: ScriptFunction) -> ScriptFunction:
            script(name, speaker)
            return speaker

        return registered
    made = what if isinstance(what, Script) else Script(what, name=name)
    made.name = made.name or name
    _registered[name] = made
    return made


def find_script(name: str) -> Script:
    """The script that a model string names.

    Raises:
        ModelError: No such name or file (code `model_not_found`, with the nearest names), or a mistake in the file.
    """
    found = _registered.get(name)
    if found is not None:
        return found
    path, _, part = name.partition("#")
    if Path(path).suffix.lower() in {".yaml", ".yml", ".json"}:
        from orbiter.models.scripted.script_file import load_script

        return load_script(path, part)
    near = near_names(name, _registered, most=3)
    known = ", ".join(repr(each) for each in near or sorted(_registered)) or "none"
    raise ModelError(
        f"No script named '{name}'. {'Nearest' if near else 'Registered'}: {known}",
        provider="scripted",
        model=name,
        code="model_not_found",
        type="not_found_error",
        status=404,
        where="client",
        hint='Register one with @script("name"), or name a file: scripted:path/to/script.yaml.',
    )


class ScriptedProvider(ModelProvider):
    """Says what a script says. Build it from a model string, or straight from a script: ``ScriptedProvider(turns)``.

    Args:
        config: The configuration whose model name is the script's; or a `Script`, a list of turns or a callable.
        **options: Deadlines, as for every provider.
    """

    streams: ClassVar[bool] = True
    structured: ClassVar[bool] = True

    def __init__(self, config: ModelConfig | Script | list[Turn] | ScriptFunction, **options: Any) -> None:
        own: Script | None = None
        if not isinstance(config, ModelConfig):
            own = config if isinstance(config, Script) else Script(config, name="inline")
            config = ModelConfig(provider="scripted", model_name=own.name or "inline")
        super().__init__(config)
        self._script = own
        self._deadlines = ModelTimeouts.of(config, options)
        if options:
            raise TypeError(
                f"The scripted provider has no option {', '.join(sorted(options))}; it takes deadlines only"
            )
        self._call = model_errors.CallContext(config.provider, config.model_name)

    def check(self) -> None:
        """Find the script.

        Raises:
            ModelError: The script does not exist, or its file has a mistake.
        """
        self._found()

    def _found(self) -> Script:
        # Looked up at each call, not kept: a file that was edited, a name that was registered again, take effect.
        return self._script or find_script(self.config.model_name)

    async def complete(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        **_settings: Any,
    ) -> ModelResponse:
        """The reply at this position of the conversation; its faults as a `ModelError`."""
        assembly = StreamAssembly()
        async for chunk in self.stream(messages, tools=tools):
            assembly.add(chunk)
        return assembly.response()

    async def stream(
        self,
        messages: list[Message],
        *,
        tools: list[dict[str, Any]] | None = None,
        **_settings: Any,
    ) -> AsyncGenerator[StreamChunk, None]:
        """The reply at this position of the conversation, word by word."""
        schemas = tools or []
        position, said = await self._found().say(messages, schemas)
        if isinstance(said, Fault):
            async for chunk in self._fail(said):
                yield chunk
            return
        if said.delay:
            await sleep(said.delay)
        first = True
        for chunk in self._chunks(said, position):
            if said.pace and not first:
                await sleep(said.pace)
            first = False
            yield chunk
        yield StreamChunk(
            finish_reason=said.finish_reason or ("tool_calls" if said.calls else "stop"),
            usage=usage_of(said, messages, schemas),
            id=f"scripted-{position.digest[:12]}",
            model=self.config.model_name,
        )

    @staticmethod
    def _chunks(reply: Reply, position: ScriptPosition) -> list[StreamChunk]:
        found = [StreamChunk(reasoning_content=piece) for piece in split_words(reply.reasoning)]
        found += [StreamChunk(delta=piece) for piece in split_words(reply.text)]
        for index, (call_id, name, arguments) in enumerate(calls_of(reply, position)):
            deltas = [ToolCallDelta(index=index, id=call_id, name=name)]
            deltas += [ToolCallDelta(index=index, arguments=piece) for piece in split_words(arguments)]
            found += [StreamChunk(tool_call_deltas=[delta]) for delta in deltas]
        return found

    async def _fail(self, fault: Fault) -> AsyncGenerator[StreamChunk, None]:
        """Hand out what came before the failure, then raise it through the path that real failures take."""
        body = fault.body_text()
        if fault.kind == "refused":
            refused = ConnectionRefusedError("All connection attempts failed")
            raise self._call.connection_error(refused, where="connect", kind="httpx2.ConnectError") from refused
        if fault.kind == "response":
            if 200 <= fault.status < 300:
                raise self._call.invalid_reply_error(
                    "The answer is not an event stream", status=fault.status, headers=fault.headers, body=body
                )
            raise self._call.http_error(fault.status, fault.headers, body)
        got = split_words(fault.text)[: fault.after]
        for piece in got:
            yield StreamChunk(delta=piece)
        if fault.kind == "stream":
            raise self._call.http_error(200, fault.headers, body, where="stream")
        if fault.kind == "truncated":
            raise self._call.truncated_error(headers=fault.headers, got=len("".join(got)))
        if fault.kind == "disconnect":
            broken = ConnectionResetError("peer closed connection without sending complete message body")
            raise self._call.connection_error(
                broken, where="stream", headers=fault.headers, kind="httpx2.RemoteProtocolError"
            ) from broken
        seconds = fault.seconds
        if seconds is None:
            seconds = self._deadlines.silence if got else self._deadlines.first_token
        await sleep(seconds)
        raise self._call.timeout_error(
            "content" if got else "first token",
            seconds,
            where="stream" if got else "first_token",
            headers=fault.headers,
        )
