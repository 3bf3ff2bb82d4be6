"""Connects to an MCP server as the SDK for Python does. For each call, lists the tools and calls one.

The settings are JSON in the first argument. The calls are lines of JSON on standard input, and their results are lines
of JSON on standard output. So is a page that the user is to open; the next line of input is then the URL that the
browser was sent to. So is a question of the server; the next line is then yes or no.
"""

import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared._httpx_utils import create_mcp_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from mcp_types import ElicitRequestFormParams, ElicitResult


class MemoryStorage:
    """Keeps the registration and tokens."""

    def __init__(self) -> None:
        self._client: OAuthClientInformationFull | None = None
        self._tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self._tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info


def write(line: object) -> None:
    print(json.dumps(line), flush=True)


async def read_line() -> str:
    return (await asyncio.to_thread(sys.stdin.readline)).strip()


async def open_page(url: str) -> None:
    write({"authorize": url})


async def read_answer() -> AuthorizationCodeResult:
    line = await read_line()
    query = parse_qs(urlsplit(line).query)
    if "code" not in query:
        raise SystemExit(f"no code: {line}")
    return AuthorizationCodeResult(
        code=query["code"][0],
        state=query.get("state", [None])[0],
        iss=query.get("iss", [None])[0],
    )


async def ask_user(_context: object, params: ElicitRequestFormParams) -> ElicitResult:
    write({"question": params.message})
    if await read_line() == "yes":
        return ElicitResult(action="accept", content={"confirm": True})
    return ElicitResult(action="decline")


async def main() -> None:
    settings = json.loads(sys.argv[1])
    auth = OAuthClientProvider(
        server_url=settings["url"],
        client_metadata=OAuthClientMetadata(
            client_name="Python client",
            redirect_uris=[settings["redirectUrl"]],
            token_endpoint_auth_method="none",
        ),
        storage=MemoryStorage(),
        redirect_handler=open_page,
        callback_handler=read_answer,
        client_metadata_url=settings["document"],
    )
    mode = "legacy" if settings["era"] == "legacy" else "auto"
    line = await read_line()
    async with create_mcp_http_client(auth=auth) as http_client:
        transport = streamable_http_client(settings["url"], http_client=http_client)
        async with Client(
            transport, mode=mode, elicitation_callback=ask_user if settings["asks"] else None
        ) as client:
            while line:
                call = json.loads(line)
                if call["expired"]:
                    # The SDK asks its clock, and refreshes only then.
                    auth.context.token_expiry_time = 1
                tools = await client.list_tools(cache_mode="bypass")
                answer = await client.call_tool(call["tool"], call["arguments"])
                write(
                    {
                        "version": client.protocol_version,
                        "tools": [tool.name for tool in tools.tools],
                        "result": answer.structured_content or {},
                    }
                )
                line = await read_line()


asyncio.run(main())
