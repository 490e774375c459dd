"""Logins at servers over HTTP: OAuth with the SDK's own flow, its tokens in a file of the user's own.

A login by a browser is done beforehand, by `orbiter-console mcp-login`: the address is opened wherever there is a
browser, and the address to which it leads is pasted back. No port is opened. In a run tokens are used and refreshed;
where that is not enough, a login is asked for. Client credentials, for programs, need no person.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.auth.utils import issuers_match
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from pydantic import AnyUrl

from orbiter.mcp.definition import Server
from orbiter.mcp.failures import LoginNeeded, PastedAddressError
from orbiter.mcp.foreign_text import clean_line
from orbiter.mcp.tokens import TokenFile
from orbiter.redaction import hold_secrets

REDIRECT = "http://localhost:8976/callback"
"""Where a browser is sent after a login. Nothing listens there: the address is pasted back."""
_EARLY_S = 30.0
"""Seconds before its end in which a token is not used any more."""
_OVER = 1.0
"""A moment long past, for a token that the server does not take; 0 stands for a token that never ends."""

# The SDK logs each failure with its text, which may hold what an authorization server says of tokens. Each is raised,
# too, and told from there.
logging.getLogger("mcp.client.auth").setLevel(logging.CRITICAL)


class _Storage:
    """The tokens of one server, as the SDK wants them, and what it forgets at its end: until when they count, and the
    authorization server, to which alone the token for refreshing may be sent.
    """

    def __init__(self, file: TokenFile, server: Server) -> None:
        self._file = file
        self._key = server.login_key
        self._issuer = server.issuer
        self._registered = _registered_client(server)
        self.provider: OAuthClientProvider | None = None

    async def get_tokens(self) -> OAuthToken | None:
        kept = await asyncio.to_thread(self._file.read, self._key)
        if self._issuer and not issuers_match(self._issuer, kept.get("authorization_server", {}).get("issuer", "")):
            return None  # of another authorization server, or of none that is known
        if self.provider is not None:
            context = self.provider.context
            context.token_expiry_time = kept.get("expires_at")
            if server := kept.get("authorization_server"):
                context.oauth_metadata = OAuthMetadata.model_validate(server)
            if resource := kept.get("resource"):
                context.protected_resource_metadata = ProtectedResourceMetadata.model_validate(resource)
        return _held(OAuthToken.model_validate(kept["tokens"])) if kept.get("tokens") else None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        parts: dict[str, Any] = {
            "tokens": _held(tokens).model_dump(mode="json", exclude_none=True),
            "expires_at": time.time() + tokens.expires_in - _EARLY_S if tokens.expires_in else None,
        }
        if self.provider is not None:
            context = self.provider.context
            for name, found in (
                ("authorization_server", context.oauth_metadata),
                ("resource", context.protected_resource_metadata),
            ):
                if found is not None:
                    parts[name] = found.model_dump(mode="json", exclude_none=True)
        await asyncio.to_thread(self._file.write, self._key, **parts)

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        if self._registered is not None:
            return self._registered
        found = (await asyncio.to_thread(self._file.read, self._key)).get("client")
        return OAuthClientInformationFull.model_validate(found) if found else None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        if self._registered is not None:
            raise OAuthFlowError(f"the server wants a login elsewhere than at {self._issuer}")
        hold_secrets(client_info.client_secret)
        kept = client_info.model_dump(mode="json", exclude_none=True)
        await asyncio.to_thread(self._file.write, self._key, client=kept)


def _registered_client(server: Server) -> OAuthClientInformationFull | None:
    """The client that was registered at the authorization server by hand, where the definition names one."""
    if not server.client_id or not server.is_login_by_person:
        return None
    hold_secrets(server.client_secret)
    return OAuthClientInformationFull(
        client_id=server.client_id,
        client_secret=server.client_secret or None,
        redirect_uris=[AnyUrl(REDIRECT)],
        token_endpoint_auth_method="client_secret_basic" if server.client_secret else "none",
        issuer=server.issuer,
    )


def _held(tokens: OAuthToken) -> OAuthToken:
    """Tokens are masked in all that is recorded, also where a server repeats them."""
    hold_secrets(tokens.access_token, tokens.refresh_token)
    return tokens


class _Login(OAuthClientProvider):
    """The SDK's flow, for many requests at a time and for several processes with one file.

    The SDK lets one request wait for the headers of another, so that a call would wait for the calls before it; and it
    reads the file once, so that a token which another process has refreshed would be lost.
    """

    issuer = ""
    """The only authorization server to log in at; empty: the one that the server names."""

    def _select_authorization_server(self, advertised: list[str]) -> str:
        if not self.issuer:
            return super()._select_authorization_server(advertised)
        for each in advertised:
            if issuers_match(each, self.issuer):
                return each
        raise OAuthFlowError(f"the server names another authorization server than {self.issuer}")

    async def _auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        context = self.context
        async with context.lock:
            await self._initialize()
            valid = context.is_token_valid()
            tried = context.current_tokens.access_token if context.current_tokens is not None else ""
            if valid:
                self._add_auth_header(request)
        if valid:
            response = yield request
            if response.status_code not in (401, 403):
                return
            if response.status_code == 401 and context.can_refresh_token():
                context.token_expiry_time = _OVER
        flow = super()._auth_flow(request)
        try:
            outgoing = await anext(flow)
            while True:
                response = yield outgoing
                outgoing = await flow.asend(response)
        except StopAsyncIteration:
            return
        except LoginNeeded:
            await self._initialize()
            found = context.current_tokens
            if found is None or found.access_token == tried or not context.is_token_valid():
                raise
            self._add_auth_header(request)  # another process was faster
            yield request
        finally:
            await flow.aclose()


class _KeptLogin(_Login):
    """Uses and refreshes what is kept; a login by a person is asked for and not begun."""

    server = ""

    async def _perform_authorization(self) -> httpx2.Request:
        raise LoginNeeded(self.server)


class _MachineLogin(_Login, ClientCredentialsOAuthProvider):
    """A login by client credentials."""


def login_of(server: Server, file: TokenFile) -> httpx2.Auth | None:
    """How requests to a server are signed in a run; None where its headers are all there is to it.

    Args:
        server: The server, its variables expanded.
        file: The user's tokens.

    Raises:
        UnusableFile: The file of the tokens cannot be trusted or read.
    """
    storage = _Storage(file, server)
    if not server.is_login_by_person:
        hold_secrets(server.client_secret)
        machine = _MachineLogin(server.url, storage, server.client_id, server.client_secret, issuer=server.issuer)
        storage.provider = machine
        return machine
    if not file.read(server.login_key).get("tokens"):
        return None
    kept = _KeptLogin(server.url, _metadata(), storage)
    kept.server, kept.issuer, storage.provider = server.name, server.issuer, kept
    return kept


def interactive_login(
    server: Server, file: TokenFile, show: Callable[[str], Awaitable[None]], paste: Callable[[], Awaitable[str]]
) -> httpx2.Auth:
    """A login with a person: `show` is given the address to open, `paste` gives the one to which it led."""
    storage = _Storage(file, server)

    async def present(address: str) -> None:
        if urlsplit(address).scheme not in ("http", "https"):
            raise PastedAddressError(
                f"the server asks to open an address that is not http or https: {clean_line(address)}"
            )
        await show(clean_line(address, 8_000))

    async def take() -> AuthorizationCodeResult:
        return pasted_code(await paste())

    made = _Login(server.url, _metadata(), storage, present, take)
    made.issuer, storage.provider = server.issuer, made
    return made


def _metadata() -> OAuthClientMetadata:
    return OAuthClientMetadata(
        client_name="orbiter-console",
        redirect_uris=[AnyUrl(REDIRECT)],
        token_endpoint_auth_method="none",  # noqa: S106 - the name of a method
    )


def pasted_code(text: str) -> AuthorizationCodeResult:
    """The code in the address to which a browser was sent.

    Raises:
        PastedAddressError: It has no code, or it says that the login was refused.
    """
    found = parse_qs(urlsplit(text.strip()).query)
    if "error" in found:
        said = clean_line(" ".join(found["error"] + found.get("error_description", [])))
        raise PastedAddressError(f"the login was refused: {said}")
    if not found.get("code") or not found.get("state"):
        raise PastedAddressError(
            f"this must be the whole address to which the browser was sent, for example {REDIRECT}?code=…&state=…"
        )
    issuer = found["iss"][0] if "iss" in found else None
    return AuthorizationCodeResult(code=found["code"][0], state=found["state"][0], iss=issuer)
