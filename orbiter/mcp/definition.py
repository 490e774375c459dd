"""A server as a file describes it: checked, with its fingerprint, and with variables expanded when it is started.

The form is that of the `mcpServers` object which MCP clients share: `command`, `args`, `env` for a program, `type:
http`, `url`, `headers` for an address. ``${NAME}`` and ``${NAME:-default}`` stand for variables of the environment.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from orbiter.errors import ConfigurationError
from orbiter.guests.tool_settings import ToolSettings
from orbiter.redaction import redact

DEFAULT_TIMEOUT_S = 600.0
"""Seconds for one call of a tool, the time in which a person is asked not counted."""
DEFAULT_CONNECT_TIMEOUT_S = 60.0
"""Seconds in which a server must have started and answered: the first start of a package downloads it."""
GrantType = Literal["client_credentials", "authorization_code"]
"""Of OAuth: ``client_credentials`` is a login of a program, ``authorization_code`` one of a person with a browser."""
SERVER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>[^}]*))?\}")
_HTTP_TYPES = frozenset({"http", "streamablehttp"})
"""How clients write it, without the case of letters, hyphens and underscores."""


class InvalidServer(ConfigurationError):
    """A server's definition that cannot be used; the message names the file, the server, and what would be right."""


@dataclass(frozen=True, slots=True)
class Server:
    """One server, as it is written: variables are not expanded yet.

    Args:
        name: Its key in the file.
        source: The file in which it stands, for messages.
        command: The program to start; empty for an HTTP server.
        args: Its arguments.
        env: Variables that it gets beside `HOME`, `PATH` and the like. No other variable reaches it.
        url: The address of an HTTP server; empty for a program.
        headers: What is sent with each request.
        client_id: By which the authorization server knows us; empty: it is asked for one, where a person logs in.
        client_secret: Its secret.
        issuer: The authorization server that gave them: they are sent to no other.
        grant_type: How a login with `client_id` is made: by a program alone, or by a person.
        timeout_s: Seconds for one call.
        connect_timeout_s: Seconds until it has started and answered.
        tools: What the operator declares of its tools, by the server's own names.
    """

    name: str
    source: str = ""
    command: str = ""
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    client_id: str = ""
    client_secret: str = ""
    issuer: str = ""
    grant_type: GrantType = "client_credentials"
    timeout_s: float = DEFAULT_TIMEOUT_S
    connect_timeout_s: float = DEFAULT_CONNECT_TIMEOUT_S
    tools: Mapping[str, ToolSettings] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """What a person approves: all of the definition, as it is written. Equal definitions have equal ones."""
        written: dict[str, Any] = {
            "command": self.command,
            "args": list(self.args),
            "env": dict(self.env),
            "url": self.url,
            "headers": dict(self.headers),
            "tools": {name: each.model_dump(mode="json", exclude_defaults=True) for name, each in self.tools.items()},
        }
        if self._login != ("", "", ""):
            written["login"] = [*self._login, *([self.grant_type] if self.is_login_by_person else [])]
        return hashlib.sha256(json.dumps(written, sort_keys=True).encode()).hexdigest()

    @property
    def is_login_by_person(self) -> bool:
        """Whether a person logs in, where the server wants a login."""
        return not self.client_id or self.grant_type == "authorization_code"

    @property
    def login_key(self) -> str:
        """What a login is kept by: the address, and the `client_id` where there is one. Of an expanded server."""
        return f"{self.url} {self.client_id}".rstrip()

    @property
    def _login(self) -> tuple[str, ...]:
        return (self.client_id, self.client_secret, self.issuer)

    @property
    def _written(self) -> tuple[str, ...]:
        return (self.command, self.url, *self.args, *self.env.values(), *self.headers.values(), *self._login)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables whose values the server is given."""
        return tuple(sorted({found["name"] for text in self._written for found in _VARIABLE.finditer(text)}))

    def missing(self, environ: Mapping[str, str]) -> tuple[str, ...]:
        """The names of the variables that have neither a value in `environ` nor a default."""
        found = (each for text in self._written for each in _VARIABLE.finditer(text))
        return tuple(sorted({each["name"] for each in found if _value_of(each, environ) is None}))

    def describe(self) -> dict[str, Any]:
        """What a person has to know before it is started: the line that would run, or the address, as JSON.

        Variables and headers are shown as they are written, with keys masked.
        """
        shown: dict[str, Any] = {"server": self.name}
        if self.url:
            shown |= {"url": self.url, "headers": _masked(self.headers, ": ")}
            if self.client_id:
                shown |= {"client_id": self.client_id, "issuer": self.issuer, "grant_type": self.grant_type}
        else:
            shown |= {"command": [self.command, *self.args], "env": _masked(self.env, "=")}
        shown["variables"] = list(self.variables)
        return {**shown, "source": self.source, "hash": self.fingerprint}

    def expanded(self, environ: Mapping[str, str]) -> Server:
        """The server with its variables filled in.

        Raises:
            InvalidServer: A variable without a default is not set.
        """

        def expand(text: str) -> str:
            return _VARIABLE.sub(lambda found: self._filled_in(found, environ), text)

        return replace(
            self,
            command=expand(self.command),
            args=tuple(map(expand, self.args)),
            env={name: expand(value) for name, value in self.env.items()},
            url=expand(self.url),
            headers={name: expand(value) for name, value in self.headers.items()},
            client_id=expand(self.client_id),
            client_secret=expand(self.client_secret),
            issuer=expand(self.issuer),
        )

    def _filled_in(self, found: re.Match[str], environ: Mapping[str, str]) -> str:
        value = _value_of(found, environ)
        if value is None:
            raise InvalidServer(
                f"the MCP server {self.name!r} needs the variable {found['name']}, which is not set: set it for the"
                f" runtime (`env_file` in [runtime]), or write ${{{found['name']}:-default}}"
            )
        return value


def _masked(written: Mapping[str, str], between: str) -> dict[str, str]:
    """Names and values, each value without what looks like a key beside its name."""
    return {
        name: redact(f"{name}{between}{value}").removeprefix(f"{name}{between}")
        for name, value in sorted(written.items())
    }


def _value_of(found: re.Match[str], environ: Mapping[str, str]) -> str | None:
    return environ.get(found["name"]) or found["default"]


def parse_server(name: str, data: Any, source: str) -> Server:
    """A server from its object in a file. Keys of other clients are passed over.

    Raises:
        InvalidServer: Something that we need is missing or wrong.
    """
    where = f"{source}: the MCP server {name!r}"
    if not SERVER_NAME.fullmatch(name):
        raise InvalidServer(f"{where} must have a name of letters, digits, '_', '-' and '.', for example \"files\"")
    if not isinstance(data, Mapping):
        raise InvalidServer(f'{where} must be an object, for example {{"command": "npx", "args": ["server"]}}')
    kind, command, url = _kind(data, where), _text(data, "command", where), _text(data, "url", where)
    if bool(command) == bool(url):
        raise InvalidServer(f'{where} must have either "command" or "url"')
    if url and kind == "stdio":
        raise InvalidServer(f'{where} has the type "stdio" and a "url": write "type": "http"')
    if url and "${" not in url and urlsplit(url).scheme not in ("http", "https"):
        raise InvalidServer(f'{where}: "url" must be an http or https address, for example "https://example.com/mcp"')
    login = _read_login(data, url, where)
    args = data.get("args", [])
    if not isinstance(args, list | tuple) or not all(isinstance(each, str) for each in args):
        raise InvalidServer(f'{where}: "args" must be a list of texts, for example ["--root", "."]')
    return Server(
        name=name,
        source=source,
        command=command,
        args=tuple(args),
        env=_texts(data, "env", where),
        url=url,
        headers=_texts(data, "headers", where),
        **login,
    )


def _kind(data: Mapping[str, Any], where: str) -> str:
    """Which transport is written down: ``stdio``, ``http``, or empty."""
    kind = data.get("type")
    if kind is None:
        return ""
    plain = str(kind).lower().replace("-", "").replace("_", "")
    if plain in _HTTP_TYPES:
        return "http"
    if plain == "sse":
        raise InvalidServer(
            f'{where} has the type "sse", a transport that MCP gave up in March 2025 and that is not supported: most'
            ' servers have an address for "type": "http", too, often one that ends with /mcp'
        )
    if plain != "stdio":
        raise InvalidServer(f'{where} has the type {kind!r}: "stdio" and "http" are supported')
    return "stdio"


def _read_login(data: Mapping[str, Any], url: str, where: str) -> dict[str, Any]:
    """What is said of a login by OAuth; empty where nothing is."""
    found = {key: _text(data, key, where) for key in ("client_id", "client_secret", "issuer")}
    grant_type = data.get("grant_type", "client_credentials")
    if grant_type not in get_args(GrantType):
        known = " or ".join(f'"{each}"' for each in get_args(GrantType))
        raise InvalidServer(f'{where}: "grant_type" must be {known}, got {grant_type!r}')
    by_person = grant_type == "authorization_code"
    if not any(found.values()) and not by_person:
        return {}
    needed = [each for each in found if not (by_person and each == "client_secret")]
    if not url or not all(found[each] for each in needed):
        names = ", ".join(f'"{each}"' for each in ("url", *needed))
        raise InvalidServer(
            f'{where}: a login with "grant_type": "{grant_type}" needs {names}, for example "issuer":'
            ' "https://login.example.com"'
        )
    return {**found, "grant_type": grant_type}


def _text(data: Mapping[str, Any], key: str, where: str) -> str:
    found = data.get(key, "")
    if not isinstance(found, str) or "\0" in found:
        raise InvalidServer(f'{where}: "{key}" must be a text')
    return found


def _texts(data: Mapping[str, Any], key: str, where: str) -> dict[str, str]:
    found = data.get(key, {})
    texts = [*found, *found.values()] if isinstance(found, Mapping) else [None]
    if not all(isinstance(each, str) and "\0" not in each for each in texts):
        raise InvalidServer(f'{where}: "{key}" must be an object of texts, for example {{"NAME": "value"}}')
    return dict(found)
