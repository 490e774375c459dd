"""The reference server over HTTP: `python -m tests.data.mcp.http_server [PORT]`.

Each port has the tools at ``/mcp``: `tools`, which is the authorization server, too; `changed`, where one tool has
another description; `login`, where a login is wanted; `machine`, where client credentials are. The ports are printed.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import socket
import sys
import threading
import time
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    ProviderTokenVerifier,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.routes import create_auth_routes
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl, AnyUrl
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.data.mcp.server import effect, make

MACHINE_ID, MACHINE_SECRET = "machine", "machine-secret-of-the-tests"
NAMES = ("tools", "changed", "login", "machine")
LIVES_S = 3_600


class Accounts(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """An authorization server of which each login succeeds at once. Refresh tokens are taken once."""

    def __init__(self) -> None:
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}
        self.clients: dict[str, OAuthClientInformationFull] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        effect("register")
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.issue(client.client_id or "", authorization_code.scopes, authorization_code.resource)

    async def load_refresh_token(self, client: OAuthClientInformationFull, refresh_token: str) -> RefreshToken | None:
        return self.refresh.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        effect("refresh")
        del self.refresh[refresh_token.token]
        return self.issue(client.client_id or "", scopes, refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)
        self.refresh.pop(token.token, None)

    def issue(self, client_id: str, scopes: list[str], resource: str | None) -> OAuthToken:
        """Tokens for a client, for one resource."""
        known: dict[str, Any] = {"client_id": client_id, "scopes": scopes, "resource": resource}
        access = AccessToken(
            token=f"access-{secrets.token_urlsafe(24)}", expires_at=int(time.time()) + LIVES_S, **known
        )
        refresh = RefreshToken(token=f"refresh-{secrets.token_urlsafe(24)}", **known)
        self.access[access.token], self.refresh[refresh.token] = access, refresh
        return OAuthToken(access_token=access.token, refresh_token=refresh.token, expires_in=LIVES_S)


ACCOUNTS = Accounts()
REGISTERED_SECRET = "registered-secret-of-the-tests"
REGISTERED = {"registered": REGISTERED_SECRET, "public": None}
"""Clients that were registered by hand, with the secret of each."""
for _name, _secret in REGISTERED.items():
    ACCOUNTS.clients[_name] = OAuthClientInformationFull(
        client_id=_name,
        client_secret=_secret,
        redirect_uris=[AnyUrl("http://localhost:8976/callback")],
        token_endpoint_auth_method="client_secret_basic" if _secret else "none",
    )


async def machine_token(request: Request) -> JSONResponse:
    """Client credentials (RFC 6749, section 4.4), which the SDK's authorization server does not know."""
    form = await request.form()
    told = request.headers.get("authorization", "")
    if told != f"Basic {base64.b64encode(f'{MACHINE_ID}:{MACHINE_SECRET}'.encode()).decode()}":
        return JSONResponse({"error": "invalid_client", "error_description": told}, status_code=401)
    assert form["grant_type"] == "client_credentials"
    effect("machine login")
    token = ACCOUNTS.issue(MACHINE_ID, [], str(form["resource"]))
    return JSONResponse({**token.model_dump(exclude_none=True), "refresh_token": None})


async def revoke_all(request: Request) -> JSONResponse:
    """Forget every access token; with ``?refresh=1`` those for refreshing, too."""
    ACCOUNTS.access.clear()
    if request.query_params.get("refresh"):
        ACCOUNTS.refresh.clear()
    return JSONResponse({})


def protected(issuer: str, port: int) -> Starlette:
    """The tools for those who have a token of `issuer`."""
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(issuer),
        resource_server_url=AnyHttpUrl(f"http://127.0.0.1:{port}/mcp"),
        validate_token_resource=True,
    )
    return make(token_verifier=ProviderTokenVerifier(ACCOUNTS), auth=settings).streamable_http_app()


def apps(ports: dict[str, int]) -> dict[str, Starlette]:
    """What listens at which port."""
    root = f"http://127.0.0.1:{ports['tools']}"
    tools = make().streamable_http_app()
    options = ClientRegistrationOptions(enabled=True)
    machines = f"{root}/machines"
    metadata = {
        "issuer": machines,
        "authorization_endpoint": f"{machines}/authorize",
        "token_endpoint": f"{machines}/token",
        "response_types_supported": ["code"],
        "grant_types_supported": ["client_credentials"],
    }

    async def describe(request: Request) -> JSONResponse:
        return JSONResponse(metadata)

    tools.router.routes += [
        *create_auth_routes(ACCOUNTS, AnyHttpUrl(root), client_registration_options=options),
        Route("/.well-known/oauth-authorization-server/machines", describe),
        Route("/machines/token", machine_token, methods=["POST"]),
        Route("/revoke-all", revoke_all, methods=["POST"]),
    ]
    return {
        "tools": tools,
        "changed": make(changed=True).streamable_http_app(),
        "login": protected(root, ports["login"]),
        "machine": protected(machines, ports["machine"]),
    }


async def main() -> None:
    """Serve until the process is ended, or its standard input: then those who started it are gone."""
    threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    listening = {name: socket.create_server(("127.0.0.1", asked if name == "tools" else 0)) for name in NAMES}
    ports = {name: each.getsockname()[1] for name, each in listening.items()}
    servers = {name: uvicorn.Server(uvicorn.Config(app, log_level="critical")) for name, app in apps(ports).items()}
    serving = [asyncio.create_task(each.serve(sockets=[listening[name]])) for name, each in servers.items()]
    print(json.dumps(ports), flush=True)  # who connects now waits until it is accepted
    await asyncio.gather(*serving)


if __name__ == "__main__":
    asyncio.run(main())
